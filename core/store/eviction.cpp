#include "core/store/eviction.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace reprise::kv {
namespace {

constexpr std::array kPolicies = {Eviction::kLru, Eviction::kLfu, Eviction::kCostAware};

}  // namespace

std::string_view name_of(Eviction policy) {
  switch (policy) {
    case Eviction::kLru:
      return "lru";
    case Eviction::kLfu:
      return "lfu";
    case Eviction::kCostAware:
      return "cost_aware";
  }
  return "?";
}

Eviction parse_eviction(std::string_view name) {
  std::vector<std::string> names;
  for (const Eviction policy : kPolicies) {
    if (name == name_of(policy)) return policy;
    names.emplace_back(name_of(policy));
  }
  raise("{}", unknown_name("eviction policy", name, names));
}

double EvictionOrder::worth(int64_t bytes, double cost_s) const {
  return floor_ + cost_s / static_cast<double>(bytes);
}

EvictionRank EvictionOrder::entered(int64_t bytes, double cost_s) {
  return {.value = policy_ == Eviction::kCostAware ? worth(bytes, cost_s) : 0,
          .last_use = ++clock_};
}

void EvictionOrder::used(EvictionRank& rank, int64_t bytes, double cost_s) {
  rank.last_use = ++clock_;
  if (policy_ == Eviction::kLfu) rank.value += 1;
  if (policy_ == Eviction::kCostAware) rank.value = worth(bytes, cost_s);
}

void EvictionOrder::evicted(const EvictionRank& rank) {
  if (policy_ == Eviction::kCostAware) floor_ = std::max(floor_, rank.value);
}

}  // namespace reprise::kv
