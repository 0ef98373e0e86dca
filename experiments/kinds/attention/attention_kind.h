// Kind "attention": decode steps of one attention layer, without a model around it.
#pragma once

#include "core/device/context.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

// All methods hold the same keys and values and are first compared with each other and with the
// definition in double precision; an exact one that is further off than rounding allows is an
// error. Then they take turns, each turn after a read of several times the last-level cache, so
// that keys and values come from memory, as they do in a model. Samples are spread evenly over the
// steps in which the sequences generate their tokens. Groups that are measured in turn exist at the
// same time and take a sample each before any takes its next.
class AttentionKind : public Kind {
 public:
  explicit AttentionKind(const Context& context) : context_(context) {}
  static KindInfo info();
  [[nodiscard]] std::string missing(const MethodChoice& method) const override;
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Json& machine,
                                   const std::atomic<bool>& stop) override;
  std::vector<std::vector<Measurement>> measure_in_turn(std::span<const Group* const> groups,
                                                        const Json& machine,
                                                        const std::atomic<bool>& stop) override;

 private:
  Context context_;
};

// Which of the steps [0, steps) the `sample`-th of `samples` is taken at: the middle of its share.
[[nodiscard]] int64_t step_of_sample(int64_t sample, int64_t samples, int64_t steps);

}  // namespace reprise::experiments
