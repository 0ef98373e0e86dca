#include "experiments/serving/queue_growth.h"

#include <algorithm>

namespace reprise::experiments::serving {

bool QueueGrowth::observe(int64_t due, int64_t done) {
  if (rule_.windows <= 0) return false;
  least_ = std::min(least_, due - done);
  if (due - window_begin_ < rule_.window_arrivals) return false;
  growing_ = least_ > before_ ? growing_ + 1 : 0;
  before_ = least_;
  least_ = std::numeric_limits<int64_t>::max();
  window_begin_ = due;
  return growing_ >= rule_.windows && before_ >= rule_.least_backlog;
}

}  // namespace reprise::experiments::serving
