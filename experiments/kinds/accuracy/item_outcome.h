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
  std::optional<bool> choice_right;  // whether the likeliest choice is right, where there are any
  std::vector<int32_t> tokens;       // of the answer
  double ttft_ms = 0;                // to the first of them, states found, copied and repaired
  RowComparison rows;                // with the baseline's, over the baseline's answer
};

// The metrics that add_outcomes() sets, in the order of a table.
[[nodiscard]] std::vector<MetricInfo> outcome_metrics();

// Adds metrics, samples of each question, and a line for each question to the answers. Intervals
// are at 95 %: Wilson's if every score is 0 or 1, otherwise the BCa bootstrap's. p-values are
// McNemar's exact one or that of exchanged scores; `seed` draws these samples. Both spans must have
// the same questions in the same order, at least one (CHECK).
void add_outcomes(Measurement& measured, std::span<const ItemOutcome> outcomes,
                  std::span<const ItemOutcome> baseline, uint64_t seed);

}  // namespace reprise::experiments
