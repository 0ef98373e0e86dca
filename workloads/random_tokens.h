// Prompts of random tokens: any length for any vocabulary, the same for every method and machine.
#pragma once

#include "core/base/random.h"
#include "workloads/workload.h"

namespace reprise::workloads {

// Token t of an item: uniform in [0, vocab) by element (item, t) of the stream `seed`;
// 0 < vocab < 2^31.
constexpr int32_t random_token(uint64_t seed, int64_t item, int64_t t, int64_t vocab) {
  // The upper half of word * vocab: uniform to within vocab / 2^32, without a division.
  const uint64_t high =
      random_bits(seed, static_cast<uint64_t>(item), static_cast<uint64_t>(t)) >> 32;
  return static_cast<int32_t>((high * static_cast<uint64_t>(vocab)) >> 32);
}

class RandomTokens final : public Workload {
 public:
  // Takes `vocab` > 0 and `seed`.
  explicit RandomTokens(const WorkloadSource& source);
  static WorkloadInfo info();

  // Its tokens are random_token()s.
  [[nodiscard]] std::vector<int32_t> prompt(int64_t item, int64_t tokens) const override;

 private:
  uint64_t seed_;
  int64_t vocab_;
};

}  // namespace reprise::workloads
