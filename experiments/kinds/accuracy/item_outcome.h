// What came of asking questions in one way, question by question, and what that says beside the
// baseline's answers.
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
  std::string text;                  // of it, as it is judged
  double score = 0;                  // of it, 0 to 1
  std::optional<bool> choice_right;  // whether the likeliest choice is right, where there are any
  std::vector<int32_t> tokens;       // of the answer
  double ttft_ms = 0;                // to the first of them, states found, copied and repaired
  RowComparison rows;                // with the baseline's, over the baseline's answer
};

// Those that add_outcomes() measures, in the order of a table.
[[nodiscard]] std::vector<MetricInfo> outcome_metrics();

// Adds metrics, samples of each question, and a line for each question to the answers. Intervals
// are of 95 %: Wilson's where every score is right or wrong, else BCa's bootstrap; p-values are
// McNemar's exact one or that of exchanged scores. `seed` draws for the latter of each. Both have
// the same questions in the same order, at least one (CHECK).
void add_outcomes(Measurement& measured, std::span<const ItemOutcome> outcomes,
                  std::span<const ItemOutcome> baseline, uint64_t seed);

}  // namespace reprise::experiments
