// Kind "request_lengths": the lengths of the requests of a serving workload. Nothing is run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/device/context.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

// The "methods" of this kind are series that name what is counted: prompts, prompts without their
// declared prefixes, outputs, declared prefixes, or the leading tokens of each prompt that a cache
// that forgets nothing could reuse. [RelayAttention table 1 and figure 10; ChunkAttention table 2]
class RequestLengthsKind : public Kind {
 public:
  explicit RequestLengthsKind(const Context&) {}
  static KindInfo info();
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Machine& machine,
                                   const std::atomic<bool>& stop) override;

 private:
  using Lengths = std::map<std::string, std::vector<double>>;  // ascending, by "method"

  // The lengths of the group's requests, kept for groups that differ only in their percentile.
  const Lengths& lengths(const Group& group, const std::atomic<bool>& stop);

  std::string counted_of_;
  Lengths lengths_;
};

}  // namespace reprise::experiments
