// The name, unit and help of a metric.
#pragma once

#include <string>

namespace reprise {

// The only place for a metric's name, unit and help; the code that measures it refers to this.
struct MetricInfo {
  std::string name;
  std::string unit;
  std::string help;
  // Its samples have tails that matter, so the results::kPercentiles that have enough samples are
  // stored beside the median.
  bool has_percentiles = false;
  // It takes extra time, so it is measured only if an experiment names it in "metrics" or in a
  // figure.
  bool is_on_request = false;
  // It may be negative (a correlation, a loss). For other metrics a negative value is an error.
  bool is_signed = false;
};

}  // namespace reprise
