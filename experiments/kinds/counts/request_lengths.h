// Kind "request_lengths": how long the requests of a serving workload are; nothing is run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/device/context.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

// A "method" is what of the requests is counted: their prompts, their outputs, what a cache that
// forgets nothing could have of the prompts, and the declared prefixes. [RelayAttention table 1 and
// figure 10; ChunkAttention table 2]
class RequestLengthsKind : public Kind {
 public:
  explicit RequestLengthsKind(const Context&) {}
  static KindInfo info();
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Json& machine,
                                   const std::atomic<bool>& stop) override;

 private:
  using Lengths = std::map<std::string, std::vector<double>>;  // by what is counted, ascending

  // Counted once for all percentiles of the same requests.
  const Lengths& lengths(const Group& group, const std::atomic<bool>& stop);

  std::string counted_of_;
  Lengths lengths_;
};

}  // namespace reprise::experiments
