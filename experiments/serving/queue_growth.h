// Detects a queue that only grows. QueueGrowth does so during a run, so that the run can be given
// up; queue_grew() does so after a run, so that the growth can be reported.
#pragma once

#include <cstdint>
#include <limits>

#include "experiments/serving/request_log.h"

namespace reprise::experiments::serving {

// A queue that is served as fast as it fills becomes short again and again. In a queue that is
// served more slowly, the least backlog grows from window to window.
struct GrowthRule {
  int64_t window_arrivals = 64;  // arrivals in a window
  int64_t windows = 4;           // growing windows in succession; 0: the rule is off
  int64_t least_backlog = 256;   // least backlog that the last window must have; far above a batch
};

// The backlog is the number of requests that are due and still wait. A request waits until its
// first token, or until its end if it has no token.
class QueueGrowth {
 public:
  explicit QueueGrowth(const GrowthRule& rule) : rule_(rule) {}
  // Takes the number of requests that are due, and the number of those that no longer wait. Returns
  // true once the least backlog has grown over `windows` windows in succession and is at least
  // least_backlog.
  bool observe(int64_t due, int64_t begun);

 private:
  GrowthRule rule_;
  int64_t window_begin_ = 0;  // number of requests due when the window began
  int64_t least_ = std::numeric_limits<int64_t>::max();
  int64_t before_ = std::numeric_limits<int64_t>::max();  // least backlog of the window before
  int64_t growing_ = 0;
};

inline constexpr const char* kQueueGrew =
    "the queue grew to the last arrival: latencies depend on the length of the run";

// Divides the requests, in order of arrival, into four quarters. Returns true if each arrival of
// the last quarter met more waiting requests than any arrival of the second quarter; the batch
// still fills in the first quarter, which does not count. A request waits until it joins the batch.
// If the engine does not report when it joins, it waits until its first token, or until its end if
// it has no token. Returns false for fewer than 16 requests.
//
// With 60 Poisson arrivals at twice the rate that the server can sustain, the result is true in
// 95 % of runs. At half the rate that the server can sustain, it is true in 0.2 % of runs (with 20
// arrivals: 3 %).
[[nodiscard]] bool queue_grew(const RequestLog& log);

}  // namespace reprise::experiments::serving
