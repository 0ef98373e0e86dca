// Made-up queries, keys and values. Each depends only on its token's sequence and position, so that
// every way to compute attention gets the same values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "experiments/kinds/attention/attention_problem.h"

namespace reprise::experiments {

// Numbers are uniform with mean 0 and variance 1, so scores scaled by head_dim^-1/2 have variance 1
// and softmax gives weight to many keys. Tokens at positions below n_s, the shared tokens, are the
// same in all sequences. Each row is a window into one table of random numbers, at a random place,
// so that making a row costs no more than copying it.
class TokenValues {
 public:
  explicit TokenValues(const AttentionProblem& problem);

  [[nodiscard]] std::span<const float> query(int64_t sequence, int64_t token) const;  // [q_dim]
  [[nodiscard]] std::span<const float> key(int64_t sequence, int64_t token) const;    // [kv_dim]
  [[nodiscard]] std::span<const float> value(int64_t sequence, int64_t token) const;  // [kv_dim]
  // key() and value(), rounded to the cache's dtype.
  [[nodiscard]] std::span<const float> cached_key(int64_t sequence, int64_t token) const;
  [[nodiscard]] std::span<const float> cached_value(int64_t sequence, int64_t token) const;

 private:
  [[nodiscard]] size_t place_of(uint64_t stream, int64_t sequence, int64_t token) const;

  AttentionProblem problem_;
  std::vector<float> table_, cached_table_;  // as drawn, and rounded to the cache's dtype
};

// The factor for attention scores: head_dim^-1/2.
[[nodiscard]] float score_scale(const AttentionProblem& problem);

}  // namespace reprise::experiments
