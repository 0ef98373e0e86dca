#include "workloads/random_tokens.h"

#include "core/base/error.h"

namespace reprise::workloads {

RandomTokens::RandomTokens(const WorkloadSource& source)
    : seed_(source.seed), vocab_(source.vocab) {
  REPRISE_CHECK(vocab_ > 0 && vocab_ <= INT32_MAX, "vocab {}", vocab_);
}

WorkloadInfo RandomTokens::info() {
  return {.name = "random_tokens",
          .summary = "uniform random token ids, any length and vocabulary"};
}

std::vector<int32_t> RandomTokens::prompt(int64_t item, int64_t tokens) const {
  REPRISE_CHECK(tokens >= 0, "tokens {}", tokens);
  std::vector<int32_t> ids(static_cast<size_t>(tokens));
  const RandomItem random(seed_, item, vocab_);
  for (int64_t t = 0; t < tokens; ++t) ids[static_cast<size_t>(t)] = random.token(t);
  return ids;
}

}  // namespace reprise::workloads
