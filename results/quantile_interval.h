// How sure one is of a percentile, whatever the distribution of the samples.
#pragma once

#include <optional>
#include <span>

#include "core/base/json.h"
#include "results/proportion.h"

namespace reprise::results {

// Interval of the quantile q at `share` between two order statistics. Of n independent samples the
// number below q is binomial (n, share), so that
//   x_(l) <= q   but for P(X <= l - 1) <= (1 - confidence) / 2,   l the largest such
//   x_(u) >= q   but for P(X >= u)     <= (1 - confidence) / 2,   u the smallest such
// (counted from 1). [David and Nagaraja 2003, §7.1] Empty where there are too few samples for
// either. `sorted` ascending; 0 < share < 1, 0 < confidence < 1 (CHECK).
[[nodiscard]] std::optional<Interval> quantile_interval(std::span<const double> sorted,
                                                        double share, double confidence);

// Adds to a metric that has percentiles (results/statistics.h) the intervals of those that have
// any: {"confidence": ..., "intervals": {"p50": {"low", "high"}, ...}}. Samples in any order.
void add_percentile_intervals(std::span<const double> samples, double confidence, Json& metric);

// Adds to a metric that is one number how sure one is of it: {"confidence", "interval": {...}}.
void add_interval(const Interval& interval, double confidence, Json& metric);

}  // namespace reprise::results
