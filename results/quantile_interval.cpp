#include "results/quantile_interval.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "results/distributions.h"
#include "results/statistics.h"

namespace reprise::results {
namespace {

// Returns the smallest k of 0 ... n with P(X <= k) >= `level`.
int64_t binomial_quantile(int64_t n, double p, double level) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (binomial_cdf(middle, n, p) >= level)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

}  // namespace

std::optional<Interval> quantile_interval(std::span<const double> sorted, double share,
                                          double confidence) {
  REPRISE_CHECK(share > 0 && share < 1, "share {}", share);
  REPRISE_CHECK(confidence > 0 && confidence < 1, "confidence {}", confidence);
  const auto n = static_cast<int64_t>(sorted.size());
  const double doubt = (1 - confidence) / 2;
  // `low` counts from 1 and has to be the least k with P(X <= k) > doubt, so that P(X <= low - 1)
  // <= doubt. binomial_quantile() returns the least k with P(X <= k) >= doubt, which is one less if
  // the two are equal.
  int64_t low = binomial_quantile(n, share, doubt);
  if (binomial_cdf(low, n, share) <= doubt) ++low;
  const int64_t high = binomial_quantile(n, share, 1 - doubt) + 1;
  if (low < 1 || high > n) return {};
  return Interval{.low = sorted[static_cast<size_t>(low - 1)],
                  .high = sorted[static_cast<size_t>(high - 1)]};
}

void add_percentile_intervals(std::span<const double> samples, double confidence, Metric& metric) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  for (const Percentile& percentile : kPercentiles) {
    if (!metric.percentiles.contains(percentile.name)) continue;
    if (const auto interval = quantile_interval(sorted, percentile.share, confidence))
      metric.intervals[percentile.name] = *interval;
  }
  if (!metric.intervals.empty()) metric.confidence = confidence;
}

}  // namespace reprise::results
