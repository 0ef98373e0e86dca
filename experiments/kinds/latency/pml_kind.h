// Kind "pml": prompts derived from schemas, timed from the submission to the first and last token.
// [Prompt Cache §5.6, figures 6 to 8]
#pragma once

#include "experiments/framework/kind.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {

// All methods answer the same prompt in turn, repetition by repetition. "baseline" computes the
// whole prompt; prompt_cache imports the prompt's modules. All methods are greedy and generate
// new_tokens tokens, which are compared with the first method's tokens.
class PmlKind : public Kind {
 public:
  explicit PmlKind(const Context& context) : bench_(context, /*has_turns=*/true) {}
  static KindInfo info();
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Machine& machine,
                                   const std::atomic<bool>& stop) override;

 private:
  Bench bench_;
};

}  // namespace reprise::experiments
