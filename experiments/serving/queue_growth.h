// Detects a queue that only grows.
#pragma once

#include <cstdint>
#include <limits>

namespace reprise::experiments::serving {

// A queue that is served as fast as it fills becomes short again and again; one that is not never
// does. So the least backlogs of successive windows are compared.
struct GrowthRule {
  int64_t window_arrivals = 64;  // arrivals in a window
  int64_t windows = 4;           // growing windows in succession; 0: the rule is off
  int64_t least_backlog = 256;   // least backlog of the last window; far more than runs at once
};

// The backlog is the number of requests that are due and not done.
class QueueGrowth {
 public:
  explicit QueueGrowth(const GrowthRule& rule) : rule_(rule) {}
  // Takes the number of requests that are due and that have ended. Returns true once the least
  // backlog has grown over `windows` windows in succession and is at least least_backlog.
  bool observe(int64_t due, int64_t done);

 private:
  GrowthRule rule_;
  int64_t window_begin_ = 0;  // number of requests that were due then
  int64_t least_ = std::numeric_limits<int64_t>::max();
  int64_t before_ = std::numeric_limits<int64_t>::max();  // least backlog of the window before
  int64_t growing_ = 0;
};

}  // namespace reprise::experiments::serving
