#include "experiments/serving/queue_growth.h"

#include <algorithm>
#include <vector>

namespace reprise::experiments::serving {

bool QueueGrowth::observe(int64_t due, int64_t begun) {
  if (rule_.windows <= 0) return false;
  least_ = std::min(least_, due - begun);
  if (due - window_begin_ < rule_.window_arrivals) return false;
  growing_ = least_ > before_ ? growing_ + 1 : 0;
  before_ = least_;
  least_ = std::numeric_limits<int64_t>::max();
  window_begin_ = due;
  return growing_ >= rule_.windows && before_ >= rule_.least_backlog;
}

namespace {

// The number of requests that wait at each arrival, in the order of arrivals.
std::vector<int64_t> waiting_at_arrivals(const RequestLog& log) {
  std::vector<double> arrivals, ends;  // ends: when each request stopped waiting
  for (const RequestEntry& entry : log.requests) {
    arrivals.push_back(entry.intended_s);
    const double end_s = entry.admitted_s >= 0    ? entry.admitted_s
                         : !entry.token_s.empty() ? entry.token_s.front()
                                                  : entry.done_s;
    if (end_s >= 0) ends.push_back(end_s);
  }
  std::sort(arrivals.begin(), arrivals.end());
  std::sort(ends.begin(), ends.end());
  std::vector<int64_t> waiting;
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const auto count_until = [&](const std::vector<double>& times) {
      return std::upper_bound(times.begin(), times.end(), arrivals[i]) - times.begin();
    };
    waiting.push_back(static_cast<int64_t>(count_until(arrivals) - count_until(ends)));
  }
  return waiting;
}

}  // namespace

bool queue_grew(const RequestLog& log) {
  constexpr size_t kLeastRequests = 16;
  const size_t count = log.requests.size();
  if (count < kLeastRequests) return false;
  const std::vector<int64_t> waiting = waiting_at_arrivals(log);
  const auto at = [&](size_t part) {
    return waiting.begin() + static_cast<std::ptrdiff_t>(part * count / 4);
  };
  return *std::min_element(at(3), waiting.end()) > *std::max_element(at(1), at(2));
}

}  // namespace reprise::experiments::serving
