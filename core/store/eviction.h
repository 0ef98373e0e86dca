// Which segment of a full tier goes first.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

namespace reprise::kv {

enum class Eviction : uint8_t {
  kLru,       // the one whose last use is longest ago
  kLfu,       // the one used least often since it came into the tier
  kCostAware  // the one that is cheapest to compute again per byte, and unused longest
};

std::string_view name_of(Eviction policy);  // "lru", "lfu", "cost_aware"
// Throws Error with the nearest name.
Eviction parse_eviction(std::string_view name);

// Of a segment in one tier. The lowest goes first; among equals the one unused longest.
struct EvictionRank {
  double value = 0;
  uint64_t last_use = 0;

  auto operator<=>(const EvictionRank&) const = default;
};

// Ranks the segments of one tier. Their value is
//   kLru         0
//   kLfu         uses since it came
//   kCostAware   floor + cost_s / bytes, set when it comes and at each use, where the floor is the
//                highest value that was evicted: GreedyDual-Size (Cao and Irani, USITS 1997). A
//                segment that is dear to compute stays longer, but not forever.
class EvictionOrder {
 public:
  explicit EvictionOrder(Eviction policy) : policy_(policy) {}

  // The rank of a segment that comes into the tier, of `bytes` > 0 that took `cost_s` to compute.
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
