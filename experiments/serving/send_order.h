// Which request of a schedule is sent next, and when.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "workloads/arrivals.h"

namespace reprise::experiments::serving {

// Open and closed loops send requests in the order of the schedule. In a session a request is sent
// when all answers that it waits for have come and the pause after them is over. Times are seconds
// from the start of the run.
class SendOrder {
 public:
  // `schedule` must outlive this object.
  explicit SendOrder(const workloads::ArrivalSchedule& schedule);

  struct Due {
    int64_t index = 0;
    double time_s = 0;
  };
  // Returns the next request that can be sent without waiting for another request to end; nullopt
  // if there is none.
  [[nodiscard]] std::optional<Due> next() const;
  // Call when the result of next() is sent.
  void sent(int64_t index);
  // The requests of a session that wait for the answer of request `index`.
  [[nodiscard]] std::span<const int64_t> successors(int64_t index) const {
    if (!schedule_.is_of_sessions()) return {};
    return turns_[static_cast<size_t>(index)].successors;
  }
  // Call when a request has ended, whatever its outcome.
  void ended(int64_t index, double time_s);
  [[nodiscard]] int64_t count_sent() const { return sent_; }
  [[nodiscard]] bool has_more() const { return sent_ < std::ssize(schedule_.intended_s); }

 private:
  struct Turn {
    std::vector<int64_t> successors;
    int64_t head = 0;          // the request that begins its session
    int64_t session_left = 0;  // if this is a head: requests of its session that have not ended
    int64_t waits = 0;         // number of answers that must still come before it can be sent
    double answered_s = 0;     // when the last of these answers came
  };
  [[nodiscard]] Turn& turn(int64_t index) { return turns_[static_cast<size_t>(index)]; }

  const workloads::ArrivalSchedule& schedule_;
  int64_t sent_ = 0, in_flight_ = 0;
  // The members below are used only for schedules of sessions.
  std::vector<Turn> turns_;                    // [requests]
  std::vector<int64_t> heads_;                 // requests that begin sessions, in their order
  size_t begun_ = 0;                           // sessions that have begun, in the order of heads_
  int64_t open_ = 0;                           // sessions that have begun and not ended
  using Waiting = std::pair<double, int64_t>;  // time and request
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
};

}  // namespace reprise::experiments::serving
