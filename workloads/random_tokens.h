// Prompts of random tokens: any length for any vocabulary, the same for every method and machine.
#pragma once

#include "core/base/random.h"
#include "workloads/workload.h"

namespace reprise::workloads {

// The tokens of one item (the prompt of one request): uniform in [0, vocab), drawn as elements
// (item, 0), (item, 1), ... of the random stream `seed`. 0 < vocab < 2^31.
class RandomItem {
 public:
  constexpr RandomItem(uint64_t seed, int64_t item, int64_t vocab)
      : row_(mix_bits(mix_bits(seed) ^ static_cast<uint64_t>(item))),
        vocab_(static_cast<uint64_t>(vocab)) {}

  [[nodiscard]] constexpr int32_t token(int64_t t) const {
    // For a uniform 32-bit number r, (r * vocab) >> 32 is uniform to within vocab / 2^32. It needs
    // no division.
    return static_cast<int32_t>(((bits(t) >> 32) * vocab_) >> 32);
  }

 private:
  // Equals random_bits(seed, item, t). The steps that are the same for all tokens of an item are
  // done once, in the constructor.
  [[nodiscard]] constexpr uint64_t bits(int64_t t) const {
    return mix_bits(row_ ^ static_cast<uint64_t>(t));
  }

  uint64_t row_, vocab_;
};

class RandomTokens final : public Workload {
 public:
  // Needs `vocab` > 0 and `seed` of the source.
  explicit RandomTokens(const WorkloadSource& source);
  static WorkloadInfo info();

  // Returns the tokens of a RandomItem.
  [[nodiscard]] std::vector<int32_t> prompt(int64_t item, int64_t tokens) const override;

 private:
  uint64_t seed_;
  int64_t vocab_;
};

}  // namespace reprise::workloads
