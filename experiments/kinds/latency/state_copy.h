// Kind "state_copy": the time to copy the attention states of cached tokens, layer by layer.
// [Prompt Cache §5.4, the memcpy of 5K tokens]
#pragma once

#include "core/device/context.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

// Keys and values are made up in a model's shape; no weights are loaded. The routes copy the same
// states in turn. Each route's copy is compared with its source bit by bit before it is timed.
class StateCopyKind : public Kind {
 public:
  explicit StateCopyKind(const Context& context) : context_(context) {}
  static KindInfo info();
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Machine& machine,
                                   const std::atomic<bool>& stop) override;

 private:
  Context context_;
};

}  // namespace reprise::experiments
