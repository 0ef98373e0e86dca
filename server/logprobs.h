// Log probabilities of tokens in the form that the API reports.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise::server {

struct TokenLogprob {
  int32_t token = 0;
  float logprob = 0;  // natural logarithm of the softmax of the model's logits
};

// Returns the log probability of the drawn `token`, followed by those of the `most` most probable
// tokens; among equally probable tokens the lowest id comes first. Logits [vocab] are those of the
// model, before temperature and top_p.
std::vector<TokenLogprob> logprobs_of(std::span<const float> logits, int32_t token, int32_t most);

}  // namespace reprise::server
