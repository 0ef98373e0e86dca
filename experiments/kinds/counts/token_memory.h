// Kind "token_memory": the memory that keys and values of cached tokens take.
#pragma once

#include "core/device/context.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

// Counts the bytes of a segment in the form in which the store keeps it. Nothing is measured, so
// the results are the same on every machine.
class TokenMemoryKind : public Kind {
 public:
  explicit TokenMemoryKind(const Context& /*context*/) {}
  static KindInfo info();
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Machine& machine,
                                   const std::atomic<bool>& stop) override;
};

}  // namespace reprise::experiments
