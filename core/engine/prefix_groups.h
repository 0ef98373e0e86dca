// Finds waiting requests that share a prefix with running sequences, for scheduling policies that
// run requests with equal prefixes together.
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

// Sort key: highest priority first, then earliest arrival, then earliest submission.
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

// Hashes of the leading 16, 32, 48, 64, 96, 128, 192, 256, ... tokens. Two sequences whose first k
// hashes are equal have the same tokens at the same positions up to that length. The hashes end
// before the first reuse::kPrivateToken, which equals no token. `positions` is [tokens].
[[nodiscard]] std::vector<uint64_t> prefix_keys(std::span<const int32_t> tokens,
                                                std::span<const int32_t> positions);

// An index of sequences by their prefix_keys(). Each call costs O(keys * log waiting); the number
// of keys grows with the logarithm of the prompt's length.
class PrefixGroups {
 public:
  using Keys = std::span<const uint64_t>;

  void add_waiting(Keys keys, const Age& age, Sequence& sequence);
  void remove_waiting(Keys keys, const Age& age);
  void add_running(Keys keys);
  void remove_running(Keys keys);
  // Returns the oldest waiting sequence among those that share the longest prefix with a running
  // one; of several such prefixes, the one whose group began first. Null if no prefix is shared.
  [[nodiscard]] Sequence* next() const;
  [[nodiscard]] bool empty() const { return groups_.empty(); }

 private:
  // The sequences that share one key, that is, the same leading tokens.
  struct Group {
    int32_t depth = 0;   // number of keys up to this one
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
  std::set<const Group*, DeepestFirst> shared_;  // groups with waiting and running sequences
  int64_t begun_ = 0;
};

}  // namespace reprise::engine
