// Logarithms of probabilities, as the API tells them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise::server {

struct TokenLogprob {
  int32_t token = 0;
  float logprob = 0;  // natural logarithm of the softmax of the logits as the model gave them
};

// Of the token that was drawn first, then of the `most` most probable ones, the lowest id first
// among equals. logits [vocab]; temperature and top_p have no part in it.
std::vector<TokenLogprob> logprobs_of(std::span<const float> logits, int32_t token, int32_t most);

}  // namespace reprise::server
