#include "experiments/kinds/sentences/reuse_bound.h"

#include <algorithm>

namespace reprise::experiments {
namespace {

// Number of pairs (query, key) in which the query sees the key.
double seen_pairs(const model::ModelConfig& config, int64_t tokens) {
  const int64_t window = config.sliding_window > 0 ? config.sliding_window : tokens;
  double pairs = 0;
  for (int64_t row = 0; row < tokens; ++row)
    pairs += static_cast<double>(std::min(window, config.is_causal ? row + 1 : tokens));
  return pairs;
}

// Weights of a layer's MLP that one token passes.
double mlp_weights(const model::ModelConfig& config, int64_t layer) {
  const double matrices = config.gated_mlp ? 3 : 2;
  const auto hidden = static_cast<double>(config.hidden);
  if (!config.has_experts(layer))
    return matrices * hidden * static_cast<double>(config.intermediate);
  const model::ExpertsConfig& experts = config.experts;
  const int64_t width = experts.per_token * experts.intermediate + experts.shared_intermediate;
  return hidden * (matrices * static_cast<double>(width) + static_cast<double>(experts.count));
}

}  // namespace

PrefillProducts prefill_products(const model::ModelConfig& config, int64_t tokens) {
  const auto n = static_cast<double>(tokens), layers = static_cast<double>(config.layers);
  const auto hidden = static_cast<double>(config.hidden), q = static_cast<double>(config.q_dim()),
             kv = static_cast<double>(config.kv_dim());
  const double of_pairs = seen_pairs(config, tokens) * q;
  // Disentangled attention adds up to two relative terms to a score, each with one more product.
  double scores = 1;
  if (config.relative.span > 0)
    scores += (config.relative.has_keys ? 1 : 0) + (config.relative.has_queries ? 1 : 0);
  PrefillProducts products;
  products.reused = layers * (n * hidden * (kv + q) + of_pairs);
  products.attention = products.reused + layers * (n * hidden * (q + kv) + scores * of_pairs);
  for (int64_t layer = 0; layer < config.layers; ++layer)
    products.rest += n * mlp_weights(config, layer);
  products.rest += n * static_cast<double>(config.convolution.kernel) * hidden * hidden;
  return products;
}

}  // namespace reprise::experiments
