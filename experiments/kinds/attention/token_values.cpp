#include "experiments/kinds/attention/token_values.h"

#include <cmath>

#include "core/base/random.h"

namespace reprise::experiments {
namespace {

constexpr uint64_t kPlaces = uint64_t{1} << 16;  // row starts; 0.3 MB of table for 32 heads of 128
enum Stream : uint64_t { kTable, kQuery, kKey, kValue };

std::span<const float> window(std::span<const float> table, size_t place, int64_t size) {
  return table.subspan(place, static_cast<size_t>(size));
}

}  // namespace

TokenValues::TokenValues(const AttentionProblem& problem)
    : problem_(problem),
      table_(kPlaces + static_cast<size_t>(problem.q_dim())),
      cached_table_(table_.size()) {
  for (size_t i = 0; i < table_.size(); ++i)
    table_[i] = static_cast<float>(std::sqrt(3.0) *
                                   (2.0 * random_unit(problem.seed, uint64_t{kTable}, i) - 1.0));
  visit_dtype(problem.kv_dtype, [&](auto tag) {
    for (size_t i = 0; i < table_.size(); ++i) cached_table_[i] = decltype(tag)(table_[i]);
  });
}

size_t TokenValues::place_of(uint64_t stream, int64_t sequence, int64_t token) const {
  const uint64_t owner = token < problem_.shared_tokens ? 0 : static_cast<uint64_t>(sequence) + 1;
  const uint64_t bits =
      random_bits(problem_.seed ^ mix_bits(stream), owner, static_cast<uint64_t>(token));
  return bits % kPlaces;
}

std::span<const float> TokenValues::query(int64_t sequence, int64_t token) const {
  return window(table_, place_of(kQuery, sequence, token), problem_.q_dim());
}
std::span<const float> TokenValues::key(int64_t sequence, int64_t token) const {
  return window(table_, place_of(kKey, sequence, token), problem_.kv_dim());
}
std::span<const float> TokenValues::value(int64_t sequence, int64_t token) const {
  return window(table_, place_of(kValue, sequence, token), problem_.kv_dim());
}
std::span<const float> TokenValues::cached_key(int64_t sequence, int64_t token) const {
  return window(cached_table_, place_of(kKey, sequence, token), problem_.kv_dim());
}
std::span<const float> TokenValues::cached_value(int64_t sequence, int64_t token) const {
  return window(cached_table_, place_of(kValue, sequence, token), problem_.kv_dim());
}

float score_scale(const AttentionProblem& problem) {
  return 1.0f / std::sqrt(static_cast<float>(problem.head_dim));
}

}  // namespace reprise::experiments
