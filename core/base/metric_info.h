// The name, unit and help of a metric.
#pragma once

#include <string>

namespace reprise {

// The only definition of a metric's name, unit and help. The code that measures the metric refers
// to it.
struct MetricInfo {
  std::string name;
  std::string unit;
  std::string help;
  // True if the metric's tail matters. Each percentile of results::kPercentiles for which there are
  // enough samples is then stored in addition to the median.
  bool has_percentiles = false;
  // True if measuring the metric takes extra time. It is then measured only if an experiment names
  // it in "metrics" or in a figure.
  bool is_on_request = false;
  // True if the metric may be negative (a correlation, a loss). A negative value of any other
  // metric is an error.
  bool is_signed = false;
};

}  // namespace reprise
