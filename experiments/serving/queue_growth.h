// Tells a queue that only grows from one that is long for a while.
#pragma once

#include <cstdint>
#include <limits>

namespace reprise::experiments::serving {

// A queue that is served as fast as it fills returns to short lengths again and again; one that is
// not never does. So what is compared is the least backlog of each window.
struct GrowthRule {
  int64_t window_arrivals = 64;  // requests that come due in a window
  int64_t windows = 4;           // growing ones in succession; 0: the rule is off
  int64_t least_backlog = 256;   // of the last; well above what is under way at once
};

// backlog = requests that are due and not done.
class QueueGrowth {
 public:
  explicit QueueGrowth(const GrowthRule& rule) : rule_(rule) {}
  // After `due` requests came due, of which `done` have ended. True once the least backlog has
  // grown over so many windows in succession, and is least_backlog or more.
  bool observe(int64_t due, int64_t done);

 private:
  GrowthRule rule_;
  int64_t window_begin_ = 0;  // requests that were due then
  int64_t least_ = std::numeric_limits<int64_t>::max();
  int64_t before_ = std::numeric_limits<int64_t>::max();  // least backlog of the window before
  int64_t growing_ = 0;
};

}  // namespace reprise::experiments::serving
