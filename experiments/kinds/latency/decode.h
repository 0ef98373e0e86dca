// Kind "decode": a batch of sequences that generate together, and how close a step is to what the
// memory can stream.
#pragma once

#include "experiments/framework/kind.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {

// A step is the time in which every sequence of the batch gets one token, counted from the moment
// when the last of them has its first. Methods take turns as in "ttft".
class DecodeKind : public Kind {
 public:
  explicit DecodeKind(const Context& context) : bench_(context) {}
  static KindInfo info();
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Json& machine,
                                   const std::atomic<bool>& stop) override;

 private:
  Bench bench_;
};

// Step times out of the times of all tokens of a batch, in time order: the prefill ends with the
// first token of the last sequence to get one, and each further run of `batch` tokens is one step.
// A last run that is short (some sequences have ended) is no step.
struct TimedBatch {
  double prefill_ms = 0;
  std::vector<double> step_ms;
};
TimedBatch split_steps(int64_t submitted_ns, const std::vector<engine::TokenEvent>& events,
                       int64_t batch);

}  // namespace reprise::experiments
