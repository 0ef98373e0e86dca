#include "core/engine/prefix_groups.h"

#include <algorithm>
#include <bit>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/reuse/sequence_cache.h"

namespace reprise::engine {

std::vector<uint64_t> prefix_keys(std::span<const int32_t> tokens,
                                  std::span<const int32_t> positions) {
  constexpr size_t kUnit = 16;  // tokens; methods share blocks or chunks of 8 or more tokens
  std::vector<uint64_t> keys;
  uint64_t hash = 0;
  size_t done = 0;
  for (size_t units = 1;; units += std::max<size_t>(1, std::bit_floor(units) / 2)) {
    const size_t end = units * kUnit;
    if (end > tokens.size()) return keys;
    for (; done < end; ++done) {
      if (tokens[done] == reuse::kPrivateToken) return keys;
      const auto token = static_cast<uint32_t>(tokens[done]);
      const auto position = static_cast<uint64_t>(static_cast<uint32_t>(positions[done]));
      hash = mix_bits(hash ^ (position << 32 | token));
    }
    keys.push_back(hash);
  }
}

// Applies `change` to the groups of a sequence and updates shared_ accordingly.
template <typename Change>
void PrefixGroups::change(Keys keys, Change&& change) {
  for (size_t k = 0; k < keys.size(); ++k) {
    const auto [entry, is_new] = groups_.try_emplace(keys[k]);
    Group& group = entry->second;
    if (is_new) {
      group.depth = static_cast<int32_t>(k);
      group.number = begun_++;
    }
    const bool was_shared = group.running > 0 && !group.waiting.empty();
    change(group);
    const bool is_shared = group.running > 0 && !group.waiting.empty();
    if (was_shared && !is_shared) shared_.erase(&group);
    if (!was_shared && is_shared) shared_.insert(&group);
    if (group.running == 0 && group.waiting.empty()) groups_.erase(entry);
  }
}

void PrefixGroups::add_waiting(Keys keys, const Age& age, Sequence& sequence) {
  change(keys, [&](Group& group) { group.waiting.emplace(age, &sequence); });
}

void PrefixGroups::remove_waiting(Keys keys, const Age& age) {
  change(keys, [&](Group& group) { group.waiting.erase(age); });
}

void PrefixGroups::add_running(Keys keys) {
  change(keys, [](Group& group) { ++group.running; });
}

void PrefixGroups::remove_running(Keys keys) {
  change(keys, [](Group& group) {
    REPRISE_CHECK(group.running > 0);
    --group.running;
  });
}

Sequence* PrefixGroups::next() const {
  return shared_.empty() ? nullptr : (*shared_.begin())->waiting.begin()->second;
}

}  // namespace reprise::engine
