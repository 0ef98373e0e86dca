#include "results/statistics.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

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
  return {.count = static_cast<int64_t>(sorted.size()),
          .median = quantile(sorted, 0.5),
          .min = sorted.front(),
          .max = sorted.back(),
          .q1 = quantile(sorted, 0.25),
          .q3 = quantile(sorted, 0.75)};
}

Json metric_json(const Summary& summary, const std::string& unit) {
  return {{"value", summary.median}, {"unit", unit},          {"min", summary.min},
          {"max", summary.max},      {"q1", summary.q1},      {"q3", summary.q3},
          {"iqr", summary.iqr()},    {"count", summary.count}};
}

void add_percentiles(std::span<const double> samples, Json& metric) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  Json unsupported = Json::array();
  for (const Percentile& percentile : kPercentiles) {
    if (std::ssize(sorted) >= percentile.least_samples())
      metric[percentile.name] = quantile(sorted, percentile.share);
    else
      unsupported.push_back(percentile.name);
  }
  if (!unsupported.empty()) metric["too_few_for"] = std::move(unsupported);
}

void mark_population(Json& metric) { metric["population"] = true; }

bool is_noisy(const Json& metric) {
  return metric.contains("iqr") && !metric.contains("population") &&
         metric["iqr"].get<double>() > kNoisyShare * metric["value"].get<double>();
}

Json disturbed_json(int64_t disturbed, int64_t taken, int64_t retaken) {
  if (disturbed == 0 && (retaken == 0 || 2 * retaken < taken)) return nullptr;
  return {{"count", disturbed}, {"of", taken}, {"retaken", retaken}};
}

bool is_disturbed(const Json& metric) { return metric.contains("disturbed"); }

Json metric_json(double value, const std::string& unit) {
  return {{"value", value}, {"unit", unit}};
}

}  // namespace reprise::results
