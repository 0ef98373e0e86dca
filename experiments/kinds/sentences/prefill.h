// Kind "prefill": what a prompt costs that nothing is generated behind, by each way to run a
// model's layers; of any shape, with random weights too.
#pragma once

#include "experiments/framework/kind.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {

// A point's methods compute the same prompts in turn, one prompt a step, and the hidden states of
// all of its tokens, so that the last layer costs what the others do. Which prompts hit a method
// that stores some is set (stored_share), so that a hit's cost is measured; it says nothing of how
// often real texts hit, for which there is kind "sentences".
class PrefillKind : public Kind {
 public:
  explicit PrefillKind(const Context& context) : bench_(context) {}
  static KindInfo info();
  [[nodiscard]] std::string missing(const MethodChoice& method) const override;
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Json& machine,
                                   const std::atomic<bool>& stop) override;

 private:
  Bench bench_;
};

}  // namespace reprise::experiments
