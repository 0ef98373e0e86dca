// The largest possible speedup of prompts if all layers reuse attention maps.
#pragma once

#include <cstdint>

#include "core/model/config/config.h"

namespace reprise::experiments {

// Numbers of multiplications in all layers for a prompt, if each layer computes all tokens.
// Embedding and head are not counted.
struct PrefillProducts {
  double attention = 0;  // projections to queries, keys, values, outputs; scores; maps times values
  double reused = 0;  // part of `attention` that a hit computes: values, map times values, outputs
  double rest = 0;    // MLPs, a convolution

  void add(const PrefillProducts& other) {
    attention += other.attention;
    reused += other.reused;
    rest += other.rest;
  }
  // Bounds on the speedup of the attention step and of the whole prompt, if a hit costs only these
  // multiplications. [AttnCache eq. 4]
  [[nodiscard]] double attention_bound() const { return attention / reused; }
  [[nodiscard]] double bound() const { return (attention + rest) / (reused + rest); }
};

// Numbers of multiplications for a text of `tokens` tokens. In a causal model each token attends to
// itself and the tokens before it, in an encoder to all tokens.
[[nodiscard]] PrefillProducts prefill_products(const model::ModelConfig& config, int64_t tokens);

}  // namespace reprise::experiments
