// Kind "attention_maps": the similarity of the attention maps of different texts, layer by layer.
// [AttnCache figure 1]
#pragma once

#include "experiments/framework/kind.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {

// The distance of two maps is half the mean L1 distance of their rows. It is 0 if the maps are
// equal, and 1 if in each row the two maps put their weights on different keys. Only maps of equal
// length are compared.
class AttentionMapsKind : public Kind {
 public:
  explicit AttentionMapsKind(const Context& context) : bench_(context) {}
  static KindInfo info();
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Machine& machine,
                                   const std::atomic<bool>& stop) override;

 private:
  Bench bench_;
};

}  // namespace reprise::experiments
