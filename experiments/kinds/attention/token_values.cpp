#include "experiments/kinds/attention/token_values.h"

#include <algorithm>
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

std::vector<double> TokenValues::attention(int64_t sequence, int64_t head, int64_t keys) const {
  const auto dim = static_cast<size_t>(problem_.head_dim);
  const auto kv_head = static_cast<size_t>(head / (problem_.heads / problem_.kv_heads));
  const auto q = query(sequence, keys - 1).subspan(static_cast<size_t>(head) * dim, dim);
  std::vector<double> scores;
  for (int64_t token = 0; token < keys; ++token) {
    const auto k = cached_key(sequence, token).subspan(kv_head * dim, dim);
    double s = 0.0;
    for (size_t c = 0; c < dim; ++c) s += static_cast<double>(q[c]) * static_cast<double>(k[c]);
    scores.push_back(s * static_cast<double>(score_scale(problem_)));
  }
  const double m = *std::max_element(scores.begin(), scores.end());
  double n = 0.0;
  for (double& s : scores) n += s = std::exp(s - m);
  std::vector<double> o(dim, 0.0);
  for (int64_t token = 0; token < keys; ++token) {
    const auto v = cached_value(sequence, token).subspan(kv_head * dim, dim);
    const double p = scores[static_cast<size_t>(token)] / n;
    for (size_t c = 0; c < dim; ++c) o[c] += p * static_cast<double>(v[c]);
  }
  return o;
}

float score_scale(const AttentionProblem& problem) {
  return 1.0f / std::sqrt(static_cast<float>(problem.head_dim));
}

}  // namespace reprise::experiments
