// What one forward step reads and writes.
#pragma once

#include <cstdint>
#include <span>

#include "core/kv/plan.h"

namespace reprise::model {

class LayerPolicy;
class ScoreBias;

// Spans and references are borrowed for the call. Row lists are ascending; a row may stand in both.
struct StepInput {
  std::span<const int32_t> ids;          // [rows]  token of each row
  const kv::AttentionPlan& plan;         // finished; plan.rows() == rows
  std::span<const int32_t> logit_rows;   // rows whose logits are wanted
  std::span<const int32_t> hidden_rows;  // rows whose last hidden states are wanted
  std::span<const int32_t> token_types;  // [rows], or empty: all 0; of models that have them
  LayerPolicy* policy = nullptr;         // null: every layer computes
  ScoreBias* score_bias = nullptr;       // null: none
};

struct StepOutput {
  std::span<float> logits;  // [logit_rows, vocab] f32, row-major; see leaves_logits
  std::span<float> hidden;  // [hidden_rows, hidden] f32, row-major, after the final norm
  // Logits stay where they are computed, see Decoder::device_logits(): `logits` is empty.
  bool leaves_logits = false;
};

}  // namespace reprise::model
