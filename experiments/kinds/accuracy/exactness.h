// Kind "exactness": whether methods generate what the contiguous cache does, and how far their
// logits are from its.
#pragma once

#include "experiments/framework/kind.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {

// Every method serves the same batches of greedy requests, one batch after another through one
// engine, so that what it retains is used. The reference is the contiguous cache with one request
// at a time, whatever methods the file lists. Nothing is timed: there are no warm-up batches.
//
// Where rounded arithmetic (bf16 weights, or keys and values narrower than f32) makes tokens
// differ, each divergence is judged against the model in f32, which is loaded for that (NearTie);
// in f32 no divergence is explained. Keeps `repetitions` x `batch` x `new_tokens` rows of logits.
class ExactnessKind : public Kind {
 public:
  explicit ExactnessKind(const Context& context) : bench_(context) {}
  static KindInfo info();
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Json& machine,
                                   const std::atomic<bool>& stop) override;

 private:
  Bench bench_;
};

}  // namespace reprise::experiments
