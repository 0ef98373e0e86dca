// How much faster prompts can become at best where all layers reuse attention maps.
#pragma once

#include <cstdint>

#include "core/model/config/config.h"

namespace reprise::experiments {

// Multiplications of a prompt's layers, each of which computes all of its tokens; embedding and
// head are not counted.
struct PrefillProducts {
  double attention = 0;  // projections of queries, keys, values and outputs; scores; maps by values
  double reused = 0;     // what is left of it with a stored map: values, map by values, outputs
  double rest = 0;       // MLPs, a convolution

  void add(const PrefillProducts& other) {
    attention += other.attention;
    reused += other.reused;
    rest += other.rest;
  }
  // Of the attention step, and of the whole prompt, where a hit costs nothing but these products.
  // [AttnCache eq. 4]
  [[nodiscard]] double attention_bound() const { return attention / reused; }
  [[nodiscard]] double bound() const { return (attention + rest) / (reused + rest); }
};

// Of a text of `tokens`: a causal model's rows see what is not behind them, an encoder's all.
[[nodiscard]] PrefillProducts prefill_products(const model::ModelConfig& config, int64_t tokens);

}  // namespace reprise::experiments
