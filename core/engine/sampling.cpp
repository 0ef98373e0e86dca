#include "core/engine/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"

namespace reprise::engine {
namespace {

int32_t greedy(std::span<const float> logits) {
  size_t best = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]))
      raise("the model produced NaN as logit of token {}: its weights or inputs are corrupt", i);
    if (logits[i] > logits[best]) best = i;
  }
  return static_cast<int32_t>(best);
}

}  // namespace

void validate(const SamplingOptions& options) {
  if (!(options.temperature >= 0.0 && options.temperature <= 100.0))
    raise("temperature is {}, it must be from 0 (greedy) to 100", options.temperature);
  if (!(options.top_p > 0.0 && options.top_p <= 1.0))
    raise("top_p is {}, it must be in (0, 1]", options.top_p);
  if (options.top_k < 0) raise("top_k is {}, it must be 0 (all) or more", options.top_k);
}

int32_t sample(std::span<const float> logits, const SamplingOptions& options, RequestId request,
               int32_t index) {
  const int32_t best = greedy(logits);
  if (options.temperature == 0.0 || options.top_k == 1) return best;
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto by_logit = [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  if (options.top_k > 0 && static_cast<size_t>(options.top_k) < order.size()) {
    std::nth_element(order.begin(), order.begin() + options.top_k, order.end(), by_logit);
    order.resize(static_cast<size_t>(options.top_k));
  }
  std::sort(order.begin(), order.end(), by_logit);
  const double top = logits[static_cast<size_t>(best)];
  std::vector<double> weights(order.size());
  double total = 0.0;
  for (size_t i = 0; i < order.size(); ++i) {
    weights[i] = std::exp((logits[static_cast<size_t>(order[i])] - top) / options.temperature);
    total += weights[i];
  }
  double kept = 0.0;
  size_t count = 0;
  while (count < order.size() && (count == 0 || kept < options.top_p * total))
    kept += weights[count++];
  double left =
      random_unit(options.seed, static_cast<uint64_t>(request), static_cast<uint64_t>(index)) *
      kept;
  for (size_t i = 0; i < count; ++i) {
    left -= weights[i];
    if (left < 0.0) return order[i];
  }
  return order[count - 1];
}

}  // namespace reprise::engine
