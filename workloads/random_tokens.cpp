#include "workloads/random_tokens.h"

#include "core/base/error.h"
#include "core/base/random.h"

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
  for (size_t t = 0; t < ids.size(); ++t) {
    // The upper half of word * vocab: uniform to within vocab / 2^32, without a division.
    const uint64_t high = random_bits(seed_, static_cast<uint64_t>(item), t) >> 32;
    ids[t] = static_cast<int32_t>((high * static_cast<uint64_t>(vocab_)) >> 32);
  }
  return ids;
}

}  // namespace reprise::workloads
