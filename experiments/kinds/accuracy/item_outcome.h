// The outcomes of questions asked in one way, and metrics that compare them with the baseline's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/framework/kind.h"
#include "experiments/kinds/shared/answer_comparison.h"

namespace reprise::experiments {

struct ItemOutcome {
  std::string id;
  std::string generated = {};        // the answer, as the model wrote it
  std::string text;                  // form of the answer that is scored
  double score = 0;                  // score of the answer, 0 to 1
  std::optional<bool> choice_right;  // the likeliest choice is right; empty: no choices
  std::vector<int32_t> tokens;       // tokens of the answer
  double ttft_ms = 0;                // TTFT, including finding, copying and repairing states
  RowComparison rows;                // logits compared with the baseline's, token by token
};

// The metrics that add_outcomes() sets, in the order of a table.
[[nodiscard]] std::vector<MetricInfo> outcome_metrics();

// Adds to `measured` metrics, samples per question, and an entry of `answers` for each question.
// Intervals are at 95 %. If every score is 0 or 1, they are Wilson's, and p-values are McNemar's
// exact ones. Otherwise they are the BCa bootstrap's, and p-values come from sign_flip_p(), both
// with samples drawn by `seed`. Both spans must have the same questions, at least one, in the same
// order (CHECK).
void add_outcomes(Measurement& measured, std::span<const ItemOutcome> outcomes,
                  std::span<const ItemOutcome> baseline, uint64_t seed);

}  // namespace reprise::experiments
