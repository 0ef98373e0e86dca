#include "experiments/serving/send_order.h"

#include "core/base/error.h"

namespace reprise::experiments::serving {

SendOrder::SendOrder(const workloads::ArrivalSchedule& schedule) : schedule_(schedule) {
  const std::vector<int64_t>& follows = schedule.follows;
  successors_.assign(follows.size(), -1);
  for (int64_t i = 0; i < std::ssize(follows); ++i) {
    const int64_t before = follows[static_cast<size_t>(i)];
    REPRISE_CHECK(before < i, "request {} follows request {}", i, before);
    if (before < 0) {
      heads_.push_back(i);
      continue;
    }
    int64_t& successor = successors_[static_cast<size_t>(before)];
    REPRISE_CHECK(successor < 0, "requests {} and {} follow request {}", successor, i, before);
    successor = i;
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
  if (schedule_.follows[static_cast<size_t>(index)] < 0) {
    ++begun_;
    ++open_;
  } else {
    waiting_.pop();
  }
}

void SendOrder::ended(int64_t index, double time_s) {
  --in_flight_;
  if (!schedule_.is_of_sessions()) return;
  const int64_t successor = successors_[static_cast<size_t>(index)];
  if (successor < 0)
    --open_;
  else
    waiting_.emplace(time_s + schedule_.pause_s[static_cast<size_t>(successor)], successor);
}

}  // namespace reprise::experiments::serving
