// Prompts of random tokens: any length for any vocabulary, the same for every method and machine.
#pragma once

#include "core/base/random.h"
#include "workloads/workload.h"

namespace reprise::workloads {

// The tokens of an item: uniform in [0, vocab) by elements (item, 0), (item, 1), ... of the stream
// `seed`; 0 < vocab < 2^31.
class RandomItem {
 public:
  constexpr RandomItem(uint64_t seed, int64_t item, int64_t vocab)
      : row_(mix_bits(mix_bits(seed) ^ static_cast<uint64_t>(item))),
        vocab_(static_cast<uint64_t>(vocab)) {}

  [[nodiscard]] constexpr int32_t token(int64_t t) const {
    // The upper half of word * vocab: uniform to within vocab / 2^32, without a division.
    return static_cast<int32_t>(((bits(t) >> 32) * vocab_) >> 32);
  }

 private:
  // random_bits(seed, item, t), of which a prompt's tokens have the first steps in common.
  [[nodiscard]] constexpr uint64_t bits(int64_t t) const {
    return mix_bits(row_ ^ static_cast<uint64_t>(t));
  }

  uint64_t row_, vocab_;
};

class RandomTokens final : public Workload {
 public:
  // Takes `vocab` > 0 and `seed`.
  explicit RandomTokens(const WorkloadSource& source);
  static WorkloadInfo info();

  // The tokens of a RandomItem.
  [[nodiscard]] std::vector<int32_t> prompt(int64_t item, int64_t tokens) const override;

 private:
  uint64_t seed_;
  int64_t vocab_;
};

}  // namespace reprise::workloads
