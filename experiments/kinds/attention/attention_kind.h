// Kind "attention": decode steps of one attention layer, without a model around it.
//
// All methods hold the same keys and values. First their outputs are compared with attention by its
// definition in double precision. Then the methods take turns. Before each turn, memory of several
// times the size of the last-level cache is read, so that the turn reads its keys and values from
// memory, as in a model.
//
// Samples are spread evenly over the steps of the generation. Groups that are measured in turn are
// all set up at the same time, and each takes one sample before any group takes its next sample.
#pragma once

#include "core/device/context.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

// Times the decode steps of a group's methods. An exact method whose outputs are off by more than
// rounding is an error.
class AttentionKind : public Kind {
 public:
  explicit AttentionKind(const Context& context) : context_(context) {}
  static KindInfo info();
  [[nodiscard]] std::string missing(const MethodChoice& method) const override;
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Machine& machine,
                                   const std::atomic<bool>& stop) override;
  std::vector<std::vector<Measurement>> measure_in_turn(std::span<const Group* const> groups,
                                                        const Machine& machine,
                                                        const std::atomic<bool>& stop) override;

 private:
  Context context_;
};

// The step in [0, steps) at which sample number `sample` is taken. The steps are divided into
// `samples` equal ranges, and sample i is taken in the middle of range i.
[[nodiscard]] int64_t step_of_sample(int64_t sample, int64_t samples, int64_t steps);

}  // namespace reprise::experiments
