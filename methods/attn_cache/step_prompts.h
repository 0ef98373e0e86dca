// Which rows of a step are prompts of their own, whole.
#pragma once

#include <cstdint>
#include <vector>

#include "core/device/tensor.h"
#include "core/kv/plan.h"

namespace reprise::attn_cache {

// Rows [first_row, first_row + tokens) of a step.
struct StepPrompt {
  int32_t first_row = 0;
  int32_t tokens = 0;
  // Whether these rows are all of a sequence, from position 0 on, and see no other: a chunk of a
  // prompt, a decoding row and one behind an imported prefix are not.
  bool is_whole = false;
};

// Neighbouring rows that the same items cover, at positions one after another, are of one prompt.
std::vector<StepPrompt> prompts_of(const kv::AttentionPlan& plan);

// The prompt's rows of hidden states [rows, hidden].
TensorView rows_of(const TensorView& hidden, const StepPrompt& prompt);

}  // namespace reprise::attn_cache
