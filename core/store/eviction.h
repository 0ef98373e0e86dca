// The order in which a full tier of a segment store evicts segments.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

namespace reprise::kv {

// Which segment is evicted first.
enum class Eviction : uint8_t {
  kLru,       // the one whose last use is longest ago
  kLfu,       // the one used least often since it came into the tier
  kCostAware  // one that is cheap to compute again per byte and has long been unused
};

std::string_view name_of(Eviction policy);  // "lru", "lfu", "cost_aware"
// Throws Error for an unknown name, with the nearest known one.
Eviction parse_eviction(std::string_view name);

// Rank of a segment in one tier. The lowest rank is evicted first; of equal values, the least
// recently used.
struct EvictionRank {
  double value = 0;
  uint64_t last_use = 0;

  auto operator<=>(const EvictionRank&) const = default;
};

// Ranks the segments of one tier. The value of a rank is
//   kLru         0
//   kLfu         number of uses since it came into the tier
//   kCostAware   floor + cost_s / bytes, set when it comes in and at each use. The floor is the
//                highest value evicted so far, as in GreedyDual-Size (Cao and Irani, USITS 1997).
//                So a segment that is expensive to compute stays longer, but not forever.
class EvictionOrder {
 public:
  explicit EvictionOrder(Eviction policy) : policy_(policy) {}

  // Rank of a segment that enters the tier. It has `bytes` > 0 and took `cost_s` seconds to
  // compute.
  [[nodiscard]] EvictionRank entered(int64_t bytes, double cost_s);
  void used(EvictionRank& rank, int64_t bytes, double cost_s);
  void evicted(const EvictionRank& rank);

 private:
  [[nodiscard]] double worth(int64_t bytes, double cost_s) const;

  Eviction policy_;
  double floor_ = 0;
  uint64_t clock_ = 0;
};

}  // namespace reprise::kv
