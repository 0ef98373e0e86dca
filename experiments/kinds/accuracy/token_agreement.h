// Compares a method's tokens and logits with those of a reference.
#pragma once

#include <cstdint>
#include <vector>

namespace reprise::experiments {

// The output of one request.
struct Generation {
  std::vector<int32_t> tokens;
  std::vector<float> logits;  // [tokens, vocab]  logits from which each token was drawn
};

// The first token at which a generation differs from its reference. Tokens after it are not
// compared, since the texts before them are different.
struct Divergence {
  int64_t request = 0;
  int64_t index = 0;  // index of the first token that differs
  int32_t reference_token = 0, token = 0;
  double max_logit_difference = 0;  // largest |logit - reference logit| up to token `index`
};

// Counts over the generations added so far.
struct Agreement {
  int64_t generations = 0;
  int64_t compared_tokens = 0;      // tokens up to the first that differs, inclusive
  double max_logit_difference = 0;  // |logit - reference logit| over the tokens compared
  double logit_scale = 0;           // largest |reference logit| over the tokens compared
  std::vector<Divergence> divergences;

  // Compares `generation` with `reference` and adds to the counts. Both must have equally many
  // tokens and equally many logits for each token (CHECK).
  void add(int64_t request, const Generation& reference, const Generation& generation);
};

}  // namespace reprise::experiments
