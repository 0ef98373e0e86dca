// Kind "prefill": times prompts without generation, for each way to run a model's layers. The model
// may have any shape, and trained or random weights.
#pragma once

#include "experiments/framework/kind.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {

// A group's methods compute the same prompts in turn, one prompt per step. The hidden states of all
// tokens are computed, so that the last layer costs as much as any other layer. Axis stored_share
// sets how many of the prompts hit a store of attention maps. So this kind measures the cost of a
// hit; kind "sentences" measures how often real texts hit.
class PrefillKind : public Kind {
 public:
  explicit PrefillKind(const Context& context) : bench_(context) {}
  static KindInfo info();
  [[nodiscard]] std::string missing(const MethodChoice& method) const override;
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Machine& machine,
                                   const std::atomic<bool>& stop) override;

 private:
  Bench bench_;
};

}  // namespace reprise::experiments
