// Rules of a request that change its logits before a token is chosen: biases, penalties, and tokens
// that must not come.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace reprise::engine {

// Applied in the order of vLLM's sampler: tokens that are not allowed or withheld, biases, then
// the penalties.
struct TokenRules {
  std::vector<std::pair<int32_t, float>> bias;  // (token, what is added to its logit)
  std::vector<int32_t> allowed;                 // ascending; empty: all tokens
  // These tokens do not come among the first `min_tokens` generated ones.
  std::vector<int32_t> withheld;
  int32_t min_tokens = 0;
  // Tokens of the prompt and the answer: positive logits are divided by it, others multiplied. 1:
  // no penalty.
  double repetition_penalty = 1.0;
  // Tokens of the answer: subtracted from their logits for each time they came, and once.
  double frequency_penalty = 0.0, presence_penalty = 0.0;

  // True if nothing changes.
  [[nodiscard]] bool empty() const;
  // Throws Error naming the rule that is out of range: a token outside the vocabulary, a number
  // that is not finite, or no token that may come.
  void validate(int32_t vocab) const;
  // Changes logits [vocab]. `generated`: the answer's tokens so far.
  void apply(std::span<const int32_t> prompt, std::span<const int32_t> generated,
             std::span<float> logits) const;
};

}  // namespace reprise::engine
