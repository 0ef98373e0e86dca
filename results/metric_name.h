// Metric names as tables and figures use them: "ttft_ms", or a percentile, "ttft_ms.p99".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/metric.h"

namespace reprise::results {

struct MetricName {
  std::string metric;
  bool names_percentile = false;
  std::string percentile;  // as written; it may not exist
};
// The first dot ends the metric: "ttft_ms.p99.9" is p99.9 of ttft_ms.
MetricName split_metric_name(const std::string& name);

std::vector<std::string> percentile_names();

// Returns the metric that `name` names: a whole metric, or the value and unit of a percentile.
// nullopt if it was not measured or has too few samples.
std::optional<Metric> shown_metric(const Metrics& metrics, const std::string& name);
// True if shown_metric() is nullopt because there are too few samples.
bool has_too_few_samples(const Metrics& metrics, const std::string& name);

}  // namespace reprise::results
