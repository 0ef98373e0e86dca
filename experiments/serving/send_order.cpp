#include "experiments/serving/send_order.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::experiments::serving {

SendOrder::SendOrder(const workloads::ArrivalSchedule& schedule) : schedule_(schedule) {
  turns_.resize(schedule.waits_for.size());
  for (int64_t i = 0; i < std::ssize(turns_); ++i) {
    const std::vector<int64_t>& waits_for = schedule.waits_for[static_cast<size_t>(i)];
    for (const int64_t before : waits_for) {
      REPRISE_CHECK(before < i, "request {} waits for request {}", i, before);
      turn(before).successors.push_back(i);
    }
    turn(i).waits = std::ssize(waits_for);
    turn(i).head = waits_for.empty() ? i : turn(waits_for.front()).head;
    ++turn(turn(i).head).session_left;
    if (waits_for.empty()) heads_.push_back(i);
  }
}

std::optional<SendOrder::Due> SendOrder::next() const {
  if (!has_more()) return std::nullopt;
  const int64_t most = schedule_.most_in_flight;
  if (!schedule_.is_of_sessions()) {
    if (most > 0 && in_flight_ >= most) return std::nullopt;
    return Due{.index = sent_, .time_s = schedule_.intended_s[static_cast<size_t>(sent_)]};
  }
  if (open_ < most && begun_ < heads_.size()) return Due{.index = heads_[begun_], .time_s = 0};
  if (waiting_.empty()) return std::nullopt;
  return Due{.index = waiting_.top().second, .time_s = waiting_.top().first};
}

void SendOrder::sent(int64_t index) {
  ++sent_;
  ++in_flight_;
  if (!schedule_.is_of_sessions()) return;
  if (turn(index).head == index) {
    ++begun_;
    ++open_;
  } else {
    waiting_.pop();
  }
}

void SendOrder::ended(int64_t index, double time_s) {
  --in_flight_;
  if (!schedule_.is_of_sessions()) return;
  if (--turn(turn(index).head).session_left == 0) --open_;
  for (const int64_t successor : turn(index).successors) {
    Turn& next = turn(successor);
    next.answered_s = std::max(next.answered_s, time_s);
    if (--next.waits == 0)
      waiting_.emplace(next.answered_s + schedule_.pause_s[static_cast<size_t>(successor)],
                       successor);
  }
}

}  // namespace reprise::experiments::serving
