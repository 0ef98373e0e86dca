#include "results/metric_name.h"

#include <algorithm>

namespace reprise::results {

MetricName split_metric_name(const std::string& name) {
  const size_t dot = name.find('.');
  if (dot == std::string::npos) return {.metric = name, .percentile = ""};
  return {
      .metric = name.substr(0, dot), .names_percentile = true, .percentile = name.substr(dot + 1)};
}

std::vector<std::string> percentile_names() {
  std::vector<std::string> names;
  for (const Percentile& percentile : kPercentiles) names.emplace_back(percentile.name);
  return names;
}

std::optional<Metric> shown_metric(const Metrics& metrics, const std::string& name) {
  const MetricName wanted = split_metric_name(name);
  const Metric* metric = find_metric(metrics, wanted.metric);
  if (metric == nullptr) return std::nullopt;
  if (!wanted.names_percentile) return *metric;
  const auto value = metric->percentiles.find(wanted.percentile);
  if (value == metric->percentiles.end()) return std::nullopt;
  return Metric{.value = value->second, .unit = metric->unit};
}

bool has_too_few_samples(const Metrics& metrics, const std::string& name) {
  const MetricName wanted = split_metric_name(name);
  const Metric* metric = find_metric(metrics, wanted.metric);
  if (!wanted.names_percentile || metric == nullptr) return false;
  const std::vector<std::string>& few = metric->too_few_for;
  return std::find(few.begin(), few.end(), wanted.percentile) != few.end();
}

}  // namespace reprise::results
