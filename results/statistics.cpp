#include "results/statistics.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace reprise::results {

double quantile(std::span<const double> sorted, double share) {
  REPRISE_CHECK(!sorted.empty());
  REPRISE_CHECK(share >= 0 && share <= 1, "share {}", share);
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return sorted[below] + fraction * (sorted[above] - sorted[below]);
}

int64_t Percentile::least_samples() const {
  constexpr double kDoubt = 0.05;
  return static_cast<int64_t>(std::ceil(std::log(kDoubt) / std::log(share)));
}

Summary summarize(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  for (const double sample : sorted) REPRISE_CHECK(std::isfinite(sample), "sample {}", sample);
  std::sort(sorted.begin(), sorted.end());
  return {Spread{.min = sorted.front(),
                 .max = sorted.back(),
                 .q1 = quantile(sorted, 0.25),
                 .q3 = quantile(sorted, 0.75),
                 .count = std::ssize(sorted)},
          quantile(sorted, 0.5)};
}

Metric metric_of(const Summary& summary, const std::string& unit) {
  return {.value = summary.median, .unit = unit, .spread = static_cast<const Spread&>(summary)};
}

void add_percentiles(std::span<const double> samples, Metric& metric) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  for (const Percentile& percentile : kPercentiles) {
    if (std::ssize(sorted) >= percentile.least_samples())
      metric.percentiles[percentile.name] = quantile(sorted, percentile.share);
    else
      metric.too_few_for.emplace_back(percentile.name);
  }
}

bool is_noisy(const Metric& metric) {
  return metric.spread && !metric.is_population &&
         metric.spread->iqr() > kNoisyShare * std::abs(metric.value);
}

std::optional<Disturbed> disturbed_mark(int64_t disturbed, int64_t taken, int64_t retaken) {
  if (disturbed == 0 && (retaken == 0 || 2 * retaken < taken)) return std::nullopt;
  return Disturbed{.count = disturbed, .of = taken, .retaken = retaken};
}

}  // namespace reprise::results
