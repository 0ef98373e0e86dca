// Metrics by the names that tables and figures take: "ttft_ms", or a percentile of it, as in
// "ttft_ms.p99".
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "results/statistics.h"

namespace reprise::results {

struct MetricName {
  std::string metric;
  bool names_percentile = false;
  std::string percentile;  // as it was written, which need not be one that exists
};
// The first dot ends the metric: "ttft_ms.p99.9" is p99.9 of ttft_ms.
MetricName split_metric_name(const std::string& name);

std::vector<std::string> percentile_names();

// What a record's metrics hold under the name: the metric as it stands, {value, unit} of a
// percentile, or null where it was not measured or its samples are too few.
Json shown_metric(const Json& metrics, const std::string& name);
// Whether that is null for want of samples.
bool has_too_few_samples(const Json& metrics, const std::string& name);

}  // namespace reprise::results
