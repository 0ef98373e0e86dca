// Kind "ttft": one request at a time, from submitting it to its first and its last token.
#pragma once

#include "experiments/framework/kind.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {

// For each repetition a fresh prompt, and every method in turn on that prompt (A B A B ...), so
// that a slow moment of the machine meets all of them.
class TtftKind : public Kind {
 public:
  explicit TtftKind(const Context& context) : bench_(context) {}
  static KindInfo info();
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Json& machine,
                                   const std::atomic<bool>& stop) override;

 private:
  Bench bench_;
};

}  // namespace reprise::experiments
