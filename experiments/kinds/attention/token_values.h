// Made-up queries, keys and values that depend only on their token, so that every way to compute
// attention gets the same values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "experiments/kinds/attention/attention_problem.h"

namespace reprise::experiments {

// Numbers are uniform with mean 0 and variance 1, so scores scaled by head_dim^-1/2 have variance 1
// and softmax gives weight to many keys. A token at t < n_s is the same in all sequences. Rows are
// windows into one table at random places, which is as fast as copying.
class TokenValues {
 public:
  explicit TokenValues(const AttentionProblem& problem);

  [[nodiscard]] std::span<const float> query(int64_t sequence, int64_t token) const;  // [q_dim]
  [[nodiscard]] std::span<const float> key(int64_t sequence, int64_t token) const;    // [kv_dim]
  [[nodiscard]] std::span<const float> value(int64_t sequence, int64_t token) const;  // [kv_dim]
  // key() and value(), rounded to the cache's dtype.
  [[nodiscard]] std::span<const float> cached_key(int64_t sequence, int64_t token) const;
  [[nodiscard]] std::span<const float> cached_value(int64_t sequence, int64_t token) const;

  // Attention [head_dim] of the newest of `keys` tokens of a sequence by its definition, in double
  // precision, over keys and values rounded to the cache's dtype. It is the naive check of
  // ExactAttention, which computes all heads at once.
  [[nodiscard]] std::vector<double> attention(int64_t sequence, int64_t head, int64_t keys) const;

 private:
  [[nodiscard]] size_t place_of(uint64_t stream, int64_t sequence, int64_t token) const;

  AttentionProblem problem_;
  std::vector<float> table_, cached_table_;  // as drawn, and rounded to the cache's dtype
};

// The factor for attention scores: head_dim^-1/2.
[[nodiscard]] float score_scale(const AttentionProblem& problem);

}  // namespace reprise::experiments
