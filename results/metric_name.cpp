#include "results/metric_name.h"

#include <algorithm>
#include <nlohmann/json.hpp>

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

Json shown_metric(const Json& metrics, const std::string& name) {
  const MetricName wanted = split_metric_name(name);
  const auto metric = metrics.find(wanted.metric);
  if (metric == metrics.end()) return nullptr;
  if (!wanted.names_percentile) return *metric;
  const auto value = metric->find(wanted.percentile);
  if (value == metric->end()) return nullptr;
  return {{"value", *value}, {"unit", (*metric)["unit"]}};
}

bool has_too_few_samples(const Json& metrics, const std::string& name) {
  const MetricName wanted = split_metric_name(name);
  const auto metric = metrics.find(wanted.metric);
  if (!wanted.names_percentile || metric == metrics.end()) return false;
  const Json few = metric->value("too_few_for", Json::array());
  return std::find(few.begin(), few.end(), wanted.percentile) != few.end();
}

}  // namespace reprise::results
