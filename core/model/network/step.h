// Inputs and outputs of one forward step.
#pragma once

#include <cstdint>
#include <span>

#include "core/kv/plan.h"

namespace reprise::model {

class LayerPolicy;

// Spans and references need to be valid during the call only. logit_rows and hidden_rows ascend; a
// row may be in both.
struct StepInput {
  std::span<const int32_t> ids;          // [rows]  token ids
  const kv::AttentionPlan& plan;         // finished; plan.rows() == rows
  std::span<const int32_t> logit_rows;   // rows whose logits are wanted
  std::span<const int32_t> hidden_rows;  // rows whose last hidden states are wanted
  // [rows]  token types, for models that have them; empty means all 0
  std::span<const int32_t> token_types;
  LayerPolicy* policy = nullptr;  // null: every layer computes
};

struct StepOutput {
  std::span<float> logits;  // [logit_rows, vocab] f32, row-major; see leaves_logits
  std::span<float> hidden;  // [hidden_rows, hidden] f32, row-major, after the final norm
  // True: the logits stay on the device, see Decoder::device_logits(), and `logits` is empty.
  bool leaves_logits = false;
};

}  // namespace reprise::model
