// Kind "attention_maps": how alike the attention maps of different texts are, layer by layer.
// [AttnCache figure 1]
#pragma once

#include "experiments/framework/kind.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {

// The distance of two maps is half of the mean L1 distance of their rows: 0 where they are equal, 1
// where no row of one has a weight in common with the other's. Maps of one length are compared.
class AttentionMapsKind : public Kind {
 public:
  explicit AttentionMapsKind(const Context& context) : bench_(context) {}
  static KindInfo info();
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Json& machine,
                                   const std::atomic<bool>& stop) override;

 private:
  Bench bench_;
};

}  // namespace reprise::experiments
