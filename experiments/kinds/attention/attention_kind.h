// Kind "attention": decode steps of one attention layer, without a model around it.
//
// All methods hold the same keys and values, and their outputs are first compared with the
// definition in double precision. Then the methods take turns, each after a read of several times
// the last-level cache, so that keys and values come from memory as in a model.
//
// Samples are spread evenly over the steps of the generation. Groups that are measured in turn
// exist at the same time; each takes one sample before any takes its next.
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

// The step in [0, steps) at which the `sample`-th of `samples` is taken: the middle of the
// `sample`-th of `samples` equal parts of the steps.
[[nodiscard]] int64_t step_of_sample(int64_t sample, int64_t samples, int64_t steps);

}  // namespace reprise::experiments
