// How sure one is of a mean score, whatever its distribution: F1 values lie at 0 and 1 with a few
// between.
#pragma once

#include <cstdint>
#include <span>

#include "results/proportion.h"

namespace reprise::results {

struct BootstrapOptions {
  double confidence = 0.95;
  int64_t resamples = 10000;
  uint64_t seed = 1;  // of the stream that samples are drawn from: (seed, resample, draw)
};

// Interval of the mean by the bootstrap, bias-corrected and accelerated (BCa): between the
// quantiles Phi(z0 + (z0 + z) / (1 - a (z0 + z))) of the means of samples drawn with replacement,
//   z   the normal quantiles of the level's two ends
//   z0  the normal quantile of the share of these means below the mean, equal ones counting half
//   a   sum (x - mean)^3 / (6 (sum (x - mean)^2)^1.5), the acceleration of a mean
// so that it keeps its level for skewed scores too, where plain percentiles lie too far to one
// side. [Efron 1987; Efron and Tibshirani 1993, §14.3] A point where all samples are equal.
// At least one sample, all finite; at least one resample; 0 < confidence < 1 (CHECK). Takes
// samples x resamples draws.
[[nodiscard]] Interval bootstrap_mean(std::span<const double> samples,
                                      const BootstrapOptions& options = {});

// The same of any statistic: `resampled` are its values on samples drawn with replacement,
// ascending, at least one; `estimate` its value on the samples themselves; `acceleration` as above,
// of a statistic that is no mean from its values with one sample left out (bca_acceleration()).
[[nodiscard]] Interval bca_interval(std::span<const double> resampled, double estimate,
                                    double acceleration, double confidence);

// sum (mean - x)^3 / (6 (sum (mean - x)^2)^1.5) over the values x of a statistic, each with another
// of the samples left out; 0 where they are all equal. [Efron and Tibshirani 1993, eq. 14.15]
[[nodiscard]] double bca_acceleration(std::span<const double> left_out);

}  // namespace reprise::results
