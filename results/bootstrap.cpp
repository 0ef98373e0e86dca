#include "results/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"
#include "results/distributions.h"
#include "results/statistics.h"

namespace reprise::results {
namespace {

// Returns the means of samples drawn with replacement, ascending. The samples are summed as
// differences from `mean`. Equal resamples, summed in different orders, then more often have means
// equal to the last bit.
std::vector<double> resampled_means(std::span<const double> samples, double mean,
                                    const BootstrapOptions& options) {
  const size_t n = samples.size();
  std::vector<double> means;
  means.reserve(static_cast<size_t>(options.resamples));
  for (int64_t r = 0; r < options.resamples; ++r) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
      sum += samples[random_bits(options.seed, static_cast<uint64_t>(r), i) % n] - mean;
    means.push_back(mean + sum / static_cast<double>(n));
  }
  std::sort(means.begin(), means.end());
  return means;
}

// Returns the acceleration of the mean, or 0 if all samples are equal.
double acceleration_of(std::span<const double> samples, double mean) {
  double squares = 0, cubes = 0;
  for (const double x : samples) {
    squares += (x - mean) * (x - mean);
    cubes += (x - mean) * (x - mean) * (x - mean);
  }
  return squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0.0;
}

// Returns the normal quantile of the share of `means` below `mean`. Means equal to `mean` count
// half, and one such mean is added, so that the share is never 0 or 1.
double bias(std::span<const double> means, double mean) {
  const double tolerance = 1e-12 * std::max(std::abs(mean), means.back() - means.front());
  const auto below = static_cast<double>(
      std::lower_bound(means.begin(), means.end(), mean - tolerance) - means.begin());
  const auto not_above = static_cast<double>(
      std::upper_bound(means.begin(), means.end(), mean + tolerance) - means.begin());
  const auto count = static_cast<double>(means.size());
  return normal_quantile(((below + not_above) / 2 + 0.5) / (count + 1));
}

}  // namespace

Interval bootstrap_mean(std::span<const double> samples, const BootstrapOptions& options) {
  REPRISE_CHECK(!samples.empty());
  REPRISE_CHECK(options.resamples > 0, "resamples {}", options.resamples);
  REPRISE_CHECK(options.confidence > 0 && options.confidence < 1, "confidence {}",
                options.confidence);
  double sum = 0;
  for (const double x : samples) {
    REPRISE_CHECK(std::isfinite(x), "sample {}", x);
    sum += x;
  }
  const double mean = sum / static_cast<double>(samples.size());
  const auto [low, high] = std::minmax_element(samples.begin(), samples.end());
  if (*low == *high) return {*low, *low};
  const std::vector<double> means = resampled_means(samples, mean, options);
  return bca_interval(means, mean, acceleration_of(samples, mean), options.confidence);
}

Interval bca_interval(std::span<const double> resampled, double estimate, double acceleration,
                      double confidence) {
  const double z0 = bias(resampled, estimate);
  const auto end = [&](double share) {
    const double z = z0 + normal_quantile(share);
    return quantile(resampled, normal_cdf(z0 + z / (1 - acceleration * z)));
  };
  return {end(0.5 - confidence / 2), end(0.5 + confidence / 2)};
}

double bca_acceleration(std::span<const double> left_out) {
  double mean = 0;
  for (const double x : left_out) mean += x / static_cast<double>(left_out.size());
  return -acceleration_of(left_out, mean);
}

}  // namespace reprise::results
