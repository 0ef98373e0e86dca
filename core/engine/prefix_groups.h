// Finds waiting requests that share a prefix with running sequences. Used by scheduling policies
// that run requests with equal prefixes together.
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

// Hashes of the leading 16, 32, 48, 64, 96, 128, 192, 256, ... tokens with their positions. If the
// first k hashes of two sequences are equal, their tokens and positions are equal up to the k-th of
// these lengths. The hashes end before the first reuse::kPrivateToken, which equals no token.
// `positions` is [tokens].
[[nodiscard]] std::vector<uint64_t> prefix_keys(std::span<const int32_t> tokens,
                                                std::span<const int32_t> positions);

// An index of sequences by their prefix_keys(). Each call costs O(keys * log waiting), where keys
// is the number of the sequence's keys and grows with the logarithm of the prompt's length.
class PrefixGroups {
 public:
  using Keys = std::span<const uint64_t>;

  void add_waiting(Keys keys, const Age& age, Sequence& sequence);
  void remove_waiting(Keys keys, const Age& age);
  void add_running(Keys keys);
  void remove_running(Keys keys);
  // Among the waiting sequences that share a prefix with a running one, finds those with the
  // longest shared prefix and returns the oldest of them. If several prefixes have this length,
  // takes the one whose group began first. Returns null if no prefix is shared.
  [[nodiscard]] Sequence* next() const;
  [[nodiscard]] bool empty() const { return groups_.empty(); }

 private:
  // The sequences that share one key, that is, the same leading tokens.
  struct Group {
    int32_t depth = 0;   // index of this key in prefix_keys()
    int64_t number = 0;  // counts groups in the order in which they began
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
  // Groups that have both waiting and running sequences.
  std::set<const Group*, DeepestFirst> shared_;
  int64_t begun_ = 0;
};

}  // namespace reprise::engine
