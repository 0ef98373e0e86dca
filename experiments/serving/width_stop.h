// Ends a run as soon as a percentile of its latencies is known well enough.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/value.h"
#include "experiments/serving/request_log.h"
#include "results/metric.h"

namespace reprise::experiments::serving {

// The interval of the percentile is computed (a look) when 100 served requests have ended, and
// again each time their number has grown by a quarter. Repeated looks could find a narrow interval
// by luck, so look k has the confidence 1 - 0.05 * 6 / (pi k)^2. Then the intervals of all looks
// contain the percentile with a probability of at least 95 %. When an interval is narrow enough, no
// further requests are sent; the run still waits for running requests and counts them.
struct WidthRule {
  double width = 0;             // largest interval width as a ratio to the percentile; 0: no rule
  std::string latency = "e2e";  // "ttft", "tpot" or "e2e" (latency.h)
  double share = 0.5;           // the percentile, 0 to 1
  double least_duration_s = 0;  // no look before this time
  int64_t least_requests = 0;   // requests that must have ended before the first look

  [[nodiscard]] bool is_set() const { return width > 0; }
};

class WidthStop {
 public:
  explicit WidthStop(const WidthRule& rule) : rule_(rule) {}

  // A request has ended, `now_s` after the start. Returns true if no further requests are needed.
  bool observe(const RequestEntry& entry, double now_s);

  struct Look {
    int64_t requests = 0;  // served requests whose latencies were known
    double confidence = 0;
    double value_s = 0;                           // the percentile
    std::optional<results::Interval> interval_s;  // nullopt: too few requests
    bool is_narrow = false;
  };
  [[nodiscard]] const std::vector<Look>& looks() const { return looks_; }

 private:
  [[nodiscard]] Look look();

  WidthRule rule_;
  std::vector<double> latencies_s_;
  int64_t ended_ = 0, next_look_ = 100;
  std::vector<Look> looks_;
};

// Returns the rule and its last look for a record, including whether the interval became narrow
// enough before the run ended.
[[nodiscard]] Fields fields_of(const WidthRule& rule, const std::vector<WidthStop::Look>& looks);
[[nodiscard]] bool is_narrow(const std::vector<WidthStop::Look>& looks);

}  // namespace reprise::experiments::serving
