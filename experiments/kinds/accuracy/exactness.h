// Kind "exactness": compares the tokens and logits of methods with those of the contiguous cache.
//
// Every method serves the same batches of greedy requests through one engine, batch after batch, so
// that the states it retains are reused. Nothing is timed, so there are no warm-up batches.
//
// If rounded arithmetic (bf16 weights, or keys and values narrower than f32) makes tokens differ,
// each divergence is judged against the model in f32, which is loaded for that (NearTie). In f32 no
// divergence is accepted.
#pragma once

#include "experiments/framework/kind.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {

// Compares each method with a reference: the contiguous cache, which computes one request at a time
// and runs even if the file does not list it. Keeps `repetitions` x `batch` x `new_tokens` rows of
// logits.
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
