// Decides whether a metric changed between two recorded runs, with the test and margins that
// `check` uses for benchmarks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "checks/design.h"
#include "results/rank_test.h"

namespace reprise::checks {

// Default margin between two recorded runs. It is larger than between runs that take turns, since
// runs of different days or machines differ by more. `check` uses it against a baseline file.
inline constexpr double kRecordedMargin = 0.10;

struct ChangeOptions {
  double margin = kRecordedMargin;  // smallest ratio - 1 that matters
  // Probability that at least one of the comparisons is wrong.
  double false_alarm = 0.01;
  // Number of comparisons that share false_alarm [Bonferroni].
  int64_t comparisons = 1;
};

struct Change {
  Verdict verdict = Verdict::kUndecided;
  // Natural logarithm of after / before; infinite if there are too few samples.
  results::Shift shift;
  double alpha = 0;  // the shift's interval has confidence 1 - alpha
  bool has_too_few_samples = false;
};

// True if there are samples and all of them are above 0, so that change_of() can compare them.
[[nodiscard]] bool has_logarithms(std::span<const double> samples);

// Compares samples of a cost (time, memory: kSlower means more), in the order they were taken, by
// the rank-sum test of their logarithms. Noise is estimated from neighbouring samples of each run.
// If a run has more than kMostCompared samples, they are replaced by the medians of kMostCompared
// batches, since requests of one queue are not independent. Returns nullopt unless both runs
// has_logarithms().
[[nodiscard]] std::optional<Change> change_of(std::span<const double> before,
                                              std::span<const double> after,
                                              const ChangeOptions& options);
inline constexpr int64_t kMostCompared = 25;

}  // namespace reprise::checks
