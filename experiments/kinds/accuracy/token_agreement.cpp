#include "experiments/kinds/accuracy/token_agreement.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace reprise::experiments {

void Agreement::add(int64_t request, const Generation& reference, const Generation& generation) {
  REPRISE_CHECK(generation.tokens.size() == reference.tokens.size(), "{} tokens, reference has {}",
                generation.tokens.size(), reference.tokens.size());
  REPRISE_CHECK(generation.logits.size() == reference.logits.size(), "{} logits, reference has {}",
                generation.logits.size(), reference.logits.size());
  ++generations;
  const size_t tokens = reference.tokens.size();
  if (tokens == 0) return;
  const auto parted = static_cast<size_t>(
      std::mismatch(reference.tokens.begin(), reference.tokens.end(), generation.tokens.begin())
          .first -
      reference.tokens.begin());
  const size_t compared = std::min(parted + 1, tokens);
  compared_tokens += static_cast<int64_t>(compared);
  const size_t vocab = reference.logits.size() / tokens;
  double difference = 0;
  for (size_t i = 0; i < compared * vocab; ++i) {
    const double wanted = reference.logits[i];
    difference = std::max(difference, std::abs(generation.logits[i] - wanted));
    logit_scale = std::max(logit_scale, std::abs(wanted));
  }
  max_logit_difference = std::max(max_logit_difference, difference);
  if (parted < tokens)
    divergences.push_back({.request = request,
                           .index = static_cast<int64_t>(parted),
                           .reference_token = reference.tokens[parted],
                           .token = generation.tokens[parted],
                           .max_logit_difference = difference});
}

}  // namespace reprise::experiments
