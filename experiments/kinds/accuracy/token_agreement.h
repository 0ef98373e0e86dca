// Compares the tokens and logits of a method with a reference.
#pragma once

#include <cstdint>
#include <vector>

namespace reprise::experiments {

// The output of one request.
struct Generation {
  std::vector<int32_t> tokens;
  std::vector<float> logits;  // [tokens, vocab] that each was drawn from
};

// The point where a generation differs from its reference. The texts after it are different.
struct Divergence {
  int64_t request = 0;
  int64_t index = 0;  // index of the first token that differs
  int32_t reference_token = 0, token = 0;
  double max_logit_difference = 0;  // over the tokens up to and including that one
};

// Counts over the generations added so far.
struct Agreement {
  int64_t generations = 0;
  int64_t compared_tokens = 0;      // up to and including the first that differs
  double max_logit_difference = 0;  // |logit - reference logit| over the tokens compared
  double logit_scale = 0;           // largest |reference logit| over the same
  std::vector<Divergence> divergences;

  // Compares one generation. Both must have equally many tokens, with logits of one vocabulary
  // (CHECK).
  void add(int64_t request, const Generation& reference, const Generation& generation);
};

}  // namespace reprise::experiments
