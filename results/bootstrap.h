// Bootstrap confidence intervals of means and other statistics. The samples may have any
// distribution; F1 values, for example, mostly lie at 0 and 1.
//
// The interval is bias-corrected and accelerated (BCa), so that it keeps its level for skewed
// scores, where plain percentiles lie too far to one side. It lies between the quantiles Phi(z0 +
// (z0 + z) / (1 - a (z0 + z))) of the means of samples drawn with replacement:
//   z   the normal quantiles of the level's two ends
//   z0  the normal quantile of the share of these means below the mean; equal means count half
//   a   sum (x - mean)^3 / (6 (sum (x - mean)^2)^1.5), the acceleration of a mean
// [Efron 1987; Efron and Tibshirani 1993, §14.3]
#pragma once

#include <cstdint>
#include <span>

#include "results/proportion.h"

namespace reprise::results {

struct BootstrapOptions {
  double confidence = 0.95;
  int64_t resamples = 10000;
  uint64_t seed = 1;  // seed of the stream (seed, resample, draw)
};

// BCa interval of the mean. Takes time proportional to samples x resamples. The interval is a point
// if all samples are equal. Needs at least one sample, all finite, at least one resample, and 0 <
// confidence < 1 (CHECK).
[[nodiscard]] Interval bootstrap_mean(std::span<const double> samples,
                                      const BootstrapOptions& options = {});

// BCa interval of any statistic. `resampled` has the statistic's values on samples drawn with
// replacement, ascending, at least one. `estimate` is the statistic's value on the samples
// themselves. `acceleration` is the `a` above for a mean, and bca_acceleration() for any other
// statistic.
[[nodiscard]] Interval bca_interval(std::span<const double> resampled, double estimate,
                                    double acceleration, double confidence);

// Returns sum (mean - x)^3 / (6 (sum (mean - x)^2)^1.5), or 0 if all x are equal. Each x is the
// statistic without one of the samples. [Efron and Tibshirani 1993, eq. 14.15]
[[nodiscard]] double bca_acceleration(std::span<const double> left_out);

}  // namespace reprise::results
