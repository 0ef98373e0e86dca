// Divides the rows of a step into prompts, and tells which prompts are whole.
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
  // True if the rows are all tokens of a sequence, from position 0 on, and see no other tokens.
  // Chunks of a prompt, decoding rows and rows behind an imported prefix are not whole.
  bool is_whole = false;
};

// The prompts of a step. Neighbouring rows at consecutive positions that the same work items cover
// belong to one prompt.
std::vector<StepPrompt> prompts_of(const kv::AttentionPlan& plan);

// The prompt's rows of hidden states [rows, hidden].
TensorView rows_of(const TensorView& hidden, const StepPrompt& prompt);

}  // namespace reprise::attn_cache
