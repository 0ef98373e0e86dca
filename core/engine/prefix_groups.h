// Which waiting requests begin like sequences that run: what a policy that keeps prefixes together
// asks for.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

namespace reprise::engine {

struct Sequence;

// The order in which requests came, the highest priority first.
struct Age {
  int32_t priority = 0;
  int64_t arrival_ns = 0, submission = 0;

  friend std::strong_ordering operator<=>(const Age& a, const Age& b) {
    if (a.priority != b.priority) return b.priority <=> a.priority;
    if (a.arrival_ns != b.arrival_ns) return a.arrival_ns <=> b.arrival_ns;
    return a.submission <=> b.submission;
  }
  friend bool operator==(const Age&, const Age&) = default;
};

// Hashes of the leading 16, 32, 48, 64, 96, 128, 192, 256, ... tokens, as many as there are: two
// sequences with k equal hashes begin with the same tokens at the same positions so far. Neighbour
// lengths are at most half of the shorter apart, so a long prompt has few. Ends before the first
// reuse::kPrivateToken, which equals nothing. `positions` is [tokens].
[[nodiscard]] std::vector<uint64_t> prefix_keys(std::span<const int32_t> tokens,
                                                std::span<const int32_t> positions);

// Sequences by their keys. Each call costs O(keys * log waiting); keys grow with the logarithm of
// the prompt.
class PrefixGroups {
 public:
  using Keys = std::span<const uint64_t>;

  void add_waiting(Keys keys, const Age& age, Sequence& sequence);
  void remove_waiting(Keys keys, const Age& age);
  void add_running(Keys keys);
  void remove_running(Keys keys);
  // Of those that wait and share the longest prefix with one that runs, the oldest. Among several
  // such prefixes the one that was there first, so that its requests come one after another. Null:
  // nobody shares any.
  [[nodiscard]] Sequence* next() const;
  [[nodiscard]] bool empty() const { return groups_.empty(); }

 private:
  // Those that begin with the same tokens.
  struct Group {
    int32_t depth = 0;   // keys up to this one
    int64_t number = 0;  // in the order in which groups began
    int32_t running = 0;
    std::map<Age, Sequence*> waiting;
  };
  struct DeepestFirst {
    bool operator()(const Group* a, const Group* b) const {
      return a->depth != b->depth ? a->depth > b->depth : a->number < b->number;
    }
  };

  template <typename Change>
  void change(Keys keys, Change&& change);

  std::unordered_map<uint64_t, Group> groups_;
  std::set<const Group*, DeepestFirst> shared_;  // in which some wait and some run
  int64_t begun_ = 0;
};

}  // namespace reprise::engine
