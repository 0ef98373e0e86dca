// Kind "exactness": compares the tokens and logits of methods with those of the contiguous cache.
//
// Every method serves the same batches of greedy requests, batch after batch through one engine, so
// that later batches reuse states that the method has kept. Nothing is timed, so there are no
// warm-up batches.
//
// With rounded arithmetic (bf16 weights, or keys and values narrower than f32) each divergence is
// judged by the logits of the model in f32, which is then loaded as well (NearTie). In f32 no
// divergence is accepted.
#pragma once

#include "experiments/framework/kind.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {

// Compares each method with the reference: the contiguous cache, computing one request at a time.
// The reference runs even if the experiment file does not list it. `repetitions` x `batch` x
// `new_tokens` rows of its logits are kept in memory.
class ExactnessKind : public Kind {
 public:
  explicit ExactnessKind(const Context& context) : bench_(context) {}
  static KindInfo info();
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Machine& machine,
                                   const std::atomic<bool>& stop) override;

 private:
  Bench bench_;
};

}  // namespace reprise::experiments
