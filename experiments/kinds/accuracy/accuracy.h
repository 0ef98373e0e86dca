// Kind "accuracy": what questions over documents are answered when the documents are modules of
// Prompt Cache, and what they are answered when they are not.
#pragma once

#include <vector>

#include "experiments/framework/kind.h"
#include "experiments/kinds/accuracy/group_questions.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {

// Every mode answers the same questions, one by one: greedily, and, where a question has choices,
// by the likelihood of each. The preamble is the schema's own text and the documents are its
// modules; the question is what each prompt brings. The baseline computes the same tokens at the
// same positions with nothing imported, whether a file lists it or not; a schema of texts one after
// another has no gaps, so that gapped and compact positions are the same. The divergence of a mode
// is taken over the baseline's answer, token by token, whatever the mode would have said itself.
//
// Repetitions would repeat the same answers: there is one. The time to first token of each question
// is that of its one answer, the baseline's taken just before.
class AccuracyKind : public Kind {
 public:
  explicit AccuracyKind(const Context& context) : bench_(context) {}
  static KindInfo info();
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Json& machine,
                                   const std::atomic<bool>& stop) override;

 private:
  Bench bench_;
  QuestionShelf questions_;
};

}  // namespace reprise::experiments
