// The queue of waiting requests, and the choice of the next one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "core/engine/prefix_groups.h"
#include "core/engine/request.h"
#include "core/engine/scheduler.h"

namespace reprise::engine {

// Adding and removing cost O(log waiting). Keeps only the indices that the scheduler's rules need.
class WaitingQueue {
 public:
  // `scheduler` must outlive the queue.
  explicit WaitingQueue(const Scheduler& scheduler);

  // The values by which a sequence is ordered must not change while it waits.
  void add(Sequence& sequence);
  void remove(Sequence& sequence);
  // Adds or removes a running sequence. If the rules follow prefixes, waiting sequences that share
  // a prefix with a running one are preferred. The sequence that joined last counts as running
  // until another one joins, even after its end. So its prefix stays preferred while no sequence
  // runs.
  void add_running(const Sequence& sequence);
  void remove_running(const Sequence& sequence);

  [[nodiscard]] bool empty() const { return ordered_.empty(); }
  [[nodiscard]] size_t size() const { return ordered_.size(); }
  // Returns the sequence that joins the batch next by the scheduler's order and rules. The queue
  // must not be empty.
  [[nodiscard]] Sequence& head(int64_t now_ns) const;

 private:
  using Before = std::function<bool(const Sequence*, const Sequence*)>;

  QueueRules rules_;
  std::set<Sequence*, Before> ordered_;
  std::map<Age, Sequence*> by_age_;  // used if the rules bound the waiting time
  PrefixGroups groups_;              // used if the rules follow prefixes
  std::vector<uint64_t> last_keys_;  // keys of the sequence that joined last
};

}  // namespace reprise::engine
