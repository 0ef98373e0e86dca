// Kind "ttft": one request at a time, timed from its submission to its first and last token.
#pragma once

#include "experiments/framework/kind.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {

// Each repetition has a new prompt, which all methods answer in turn (A B A B ...), so that a slow
// moment of the machine affects all methods.
class TtftKind : public Kind {
 public:
  explicit TtftKind(const Context& context) : bench_(context, /*has_turns=*/true) {}
  static KindInfo info();
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Machine& machine,
                                   const std::atomic<bool>& stop) override;

 private:
  Bench bench_;
};

}  // namespace reprise::experiments
