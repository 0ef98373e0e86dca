// Confidence intervals of percentiles, valid for any distribution of the samples.
//
// X, the number of n independent samples below the quantile q at `share`, is binomial (n, share).
// The interval is [x_(l), x_(u)], with samples counted from 1 and doubt = (1 - confidence) / 2:
//   x_(l) > q only if X <= l - 1   l is the largest with P(X <= l - 1) <= doubt
//   x_(u) < q only if X >= u       u is the smallest with P(X >= u) <= doubt
// [David and Nagaraja 2003, §7.1]
#pragma once

#include <optional>
#include <span>

#include "results/metric.h"

namespace reprise::results {

// Confidence interval of the quantile at `share`. Its two ends are samples; nullopt if there are
// too few samples for one of the ends. `sorted` is ascending; 0 < share < 1, 0 < confidence < 1
// (CHECK).
[[nodiscard]] std::optional<Interval> quantile_interval(std::span<const double> sorted,
                                                        double share, double confidence);

// Adds the interval of each percentile of the metric that has enough samples. `samples` may be in
// any order.
void add_percentile_intervals(std::span<const double> samples, double confidence, Metric& metric);

}  // namespace reprise::results
