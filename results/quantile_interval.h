// Confidence intervals of percentiles, valid for any distribution of the samples.
//
// The number of n independent samples below the quantile q at `share` is binomial (n, share). So,
// with doubt = (1 - confidence) / 2 and counting from 1,
//   x_(l) <= q   unless P(X <= l - 1) <= doubt,  l the largest such
//   x_(u) >= q   unless P(X >= u) <= doubt,      u the smallest such
// [David and Nagaraja 2003, §7.1]
#pragma once

#include <optional>
#include <span>

#include "core/base/json.h"
#include "results/proportion.h"

namespace reprise::results {

// Interval of a quantile between two order statistics; empty if there are too few samples for
// either. `sorted` is ascending; 0 < share < 1, 0 < confidence < 1 (CHECK).
[[nodiscard]] std::optional<Interval> quantile_interval(std::span<const double> sorted,
                                                        double share, double confidence);

// Adds intervals to a metric with percentiles (results/statistics.h), for those that have enough
// samples: {"confidence": ..., "intervals": {"p50": {"low", "high"}, ...}}. Samples in any order.
void add_percentile_intervals(std::span<const double> samples, double confidence, Json& metric);

// Adds an interval to a metric that is one number: {"confidence", "interval": {...}}.
void add_interval(const Interval& interval, double confidence, Json& metric);

}  // namespace reprise::results
