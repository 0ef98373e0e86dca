// The definition of attention, one head at a time, to check ExactAttention and the operators.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "experiments/kinds/attention/token_values.h"

namespace reprise::experiments {

// Returns the output [head_dim] of one head's attention for token `keys` - 1 of a sequence, over
// `keys` keys and values rounded to the cache's dtype, in double precision.
inline std::vector<double> naive_attention(const AttentionProblem& problem,
                                           const TokenValues& values, int64_t sequence,
                                           int64_t head, int64_t keys) {
  const auto dim = static_cast<size_t>(problem.head_dim);
  const auto kv_head = static_cast<size_t>(head / (problem.heads / problem.kv_heads));
  const auto q = values.query(sequence, keys - 1).subspan(static_cast<size_t>(head) * dim, dim);
  std::vector<double> scores;
  for (int64_t token = 0; token < keys; ++token) {
    const auto k = values.cached_key(sequence, token).subspan(kv_head * dim, dim);
    double s = 0.0;
    for (size_t c = 0; c < dim; ++c) s += static_cast<double>(q[c]) * static_cast<double>(k[c]);
    scores.push_back(s * static_cast<double>(score_scale(problem)));
  }
  const double m = *std::max_element(scores.begin(), scores.end());
  double n = 0.0;
  for (double& s : scores) n += s = std::exp(s - m);
  std::vector<double> o(dim, 0.0);
  for (int64_t token = 0; token < keys; ++token) {
    const auto v = values.cached_value(sequence, token).subspan(kv_head * dim, dim);
    const double p = scores[static_cast<size_t>(token)] / n;
    for (size_t c = 0; c < dim; ++c) o[c] += p * static_cast<double>(v[c]);
  }
  return o;
}

}  // namespace reprise::experiments
