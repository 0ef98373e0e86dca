// The requests that wait, and who of them is asked next.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/engine/prefix_groups.h"
#include "core/engine/request.h"
#include "core/engine/scheduler.h"

namespace reprise::engine {

// Joining and leaving cost O(log waiting); what a policy's rules do not ask for is not kept.
class WaitingQueue {
 public:
  // The scheduler must outlive the queue.
  explicit WaitingQueue(const Scheduler& scheduler);

  // What it is ordered by must not change while it waits.
  void add(Sequence& sequence);
  void remove(Sequence& sequence);
  // Sequences that run, which others that wait may begin like. The one that joined last counts on
  // when it has ended, until another joins: where all end at once, their prefix goes on.
  void add_running(const Sequence& sequence);
  void remove_running(const Sequence& sequence);

  [[nodiscard]] bool empty() const { return ordered_.empty(); }
  [[nodiscard]] size_t size() const { return ordered_.size(); }
  // Who joins next by the scheduler's order and rules. Somebody waits.
  [[nodiscard]] Sequence& head(int64_t now_ns) const;
  // Those that wait at their deadline, the earliest first. O(1) where there are none.
  [[nodiscard]] std::vector<RequestId> expired(int64_t now_ns) const;

 private:
  using Before = std::function<bool(const Sequence*, const Sequence*)>;

  QueueRules rules_;
  std::set<Sequence*, Before> ordered_;
  std::map<Age, Sequence*> by_age_;  // where waiting is bounded
  PrefixGroups groups_;              // where prefixes are followed
  std::vector<uint64_t> last_keys_;  // of the sequence that joined last
  std::set<std::pair<int64_t, RequestId>> deadlines_;
};

}  // namespace reprise::engine
