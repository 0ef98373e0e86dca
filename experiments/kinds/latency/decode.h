// Kind "decode": times the steps of sequences that generate together in a batch, and computes the
// share of the memory bandwidth that a step reaches.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/framework/kind.h"
#include "experiments/kinds/latency/peer.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {

// A step is the time in which every sequence of the batch gets one token. The first step begins
// when every sequence has its first token. Methods and peers (the kind's series) take turns on the
// same prompts, so that a slow moment of the machine affects all of them.
class DecodeKind : public Kind {
 public:
  explicit DecodeKind(const Context& context) : bench_(context) {}
  static KindInfo info();
  [[nodiscard]] std::string missing(const MethodChoice& method) const override;
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Machine& machine,
                                   const std::atomic<bool>& stop) override;

 private:
  std::vector<std::unique_ptr<Peer>> make_peers(const Group& group, const std::atomic<bool>& stop);

  Bench bench_;
};

// Step times of a batch, computed from the times of all its tokens in time order. The prefill ends
// when every sequence has its first token. After that, each `batch` successive tokens are one step.
// If some sequences end early, fewer than `batch` tokens are left at the end; they are not a step.
struct TimedBatch {
  double prefill_ms = 0;
  std::vector<double> step_ms;
};
TimedBatch split_steps(int64_t submitted_ns, const std::vector<engine::TokenEvent>& events,
                       int64_t batch);

}  // namespace reprise::experiments
