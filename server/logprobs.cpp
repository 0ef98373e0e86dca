#include "server/logprobs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace reprise::server {

std::vector<TokenLogprob> logprobs_of(std::span<const float> logits, int32_t token, int32_t most) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - top);
  const double log_sum = top + std::log(sum);
  const auto entry = [&](int32_t id) {
    return TokenLogprob{id, static_cast<float>(logits[static_cast<size_t>(id)] - log_sum)};
  };
  std::vector<TokenLogprob> out = {entry(token)};
  if (most <= 0) return out;
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto count = std::min(static_cast<size_t>(most), ids.size());
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(ids.begin(), end, ids.end(), [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  std::transform(ids.begin(), end, std::back_inserter(out), entry);
  return out;
}

}  // namespace reprise::server
