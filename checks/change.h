// Whether a metric changed between two recorded runs, by the test and the margins that a check
// judges benchmarks with.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "checks/design.h"
#include "results/rank_test.h"

namespace reprise::checks {

// Runs of different days or machines differ by more than runs that take turns, as a baseline from a
// file does: what `check` asks of those is asked here.
inline constexpr double kRecordedMargin = 0.10;

struct ChangeOptions {
  double margin = kRecordedMargin;  // ratio - 1 from which a change matters
  double false_alarm = 0.01;        // that any of the comparisons is wrong
  int64_t comparisons = 1;          // that share it [Bonferroni]
};

struct Change {
  Verdict verdict = Verdict::kUndecided;
  results::Shift shift;  // logarithm of after / before; infinite where the samples are too few
  double alpha = 0;      // the level of its interval
  bool has_too_few_samples = false;
};

// Of samples of a cost (a time, memory: kSlower is more of it), each in the order it was taken. By
// the rank-sum test of their logarithms; the noise is that of neighbouring samples within each run,
// as A/A pairs. Of more than kMostCompared samples the medians of as many batches of neighbours are
// compared in their place: requests of one queue are not independent, and batches nearly are.
// Nothing where either has no sample or one that is not above 0.
[[nodiscard]] std::optional<Change> change_of(std::span<const double> before,
                                              std::span<const double> after,
                                              const ChangeOptions& options);
inline constexpr int64_t kMostCompared = 25;

}  // namespace reprise::checks
