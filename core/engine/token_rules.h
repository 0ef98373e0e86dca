// Rules of a request that change its logits before a token is chosen: biases, penalties, and
// excluded tokens.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace reprise::engine {

// Applied in the order of vLLM's sampler: tokens that are withheld or not allowed get the logit
// -inf, then biases are added, then penalties apply.
struct TokenRules {
  std::vector<std::pair<int32_t, float>> bias;  // (token, number added to the token's logit)
  std::vector<int32_t> allowed;                 // ascending; empty: all tokens
  // Tokens that must not be among the first `min_tokens` generated ones.
  std::vector<int32_t> withheld;
  int32_t min_tokens = 0;
  // For each token that occurs in the prompt or the answer: a positive logit is divided by this
  // number, and any other logit is multiplied by it. 1: no penalty.
  double repetition_penalty = 1.0;
  // For each token that occurs in the answer: lowers its logit by frequency_penalty for every
  // occurrence, and once by presence_penalty.
  double frequency_penalty = 0.0, presence_penalty = 0.0;

  // True if the rules change no logit.
  [[nodiscard]] bool empty() const;
  // Throws Error naming the rule that is wrong: a token outside the vocabulary, a number that is
  // not finite, a repetition penalty that is not above 0, allowed tokens that do not ascend, or
  // rules that exclude every first token.
  void validate(int32_t vocab) const;
  // Changes logits [vocab]. `generated`: the answer's tokens so far.
  void apply(std::span<const int32_t> prompt, std::span<const int32_t> generated,
             std::span<float> logits) const;
};

}  // namespace reprise::engine
