// Prompts of random tokens: any length for any vocabulary, the same for every method and machine.
#pragma once

#include "workloads/workload.h"

namespace reprise::workloads {

class RandomTokens final : public Workload {
 public:
  // Takes `vocab` > 0 and `seed`.
  explicit RandomTokens(const WorkloadSource& source);
  static WorkloadInfo info();

  // Token t of an item is drawn uniformly from [0, vocab) by element (item, t) of the stream
  // `seed`.
  [[nodiscard]] std::vector<int32_t> prompt(int64_t item, int64_t tokens) const override;

 private:
  uint64_t seed_;
  int64_t vocab_;
};

}  // namespace reprise::workloads
