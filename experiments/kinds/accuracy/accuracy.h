// Kind "accuracy": compares answers to questions over documents with and without Prompt Cache. With
// Prompt Cache, each document is a module.
//
// All modes answer the same questions one by one: greedily, and by the likelihood of each choice if
// a question has choices. The preamble is the schema's own text, the documents are its modules, and
// the question is each prompt's new text. There is one repetition, since more would repeat the
// answers.
//
// The baseline computes the same tokens at the same positions without imports. It runs even if the
// experiment file does not list it. Gapped and compact positions are equal here, because the
// schema's texts follow each other without gaps. A mode's divergence is computed over the tokens of
// the baseline's answer. The time to first token is measured once per question and mode, after the
// baseline has answered the same question.
#pragma once

#include <vector>

#include "experiments/framework/kind.h"
#include "experiments/kinds/accuracy/group_questions.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {

// Asks all questions of a group in every mode and compares the answers with the baseline's.
class AccuracyKind : public Kind {
 public:
  explicit AccuracyKind(const Context& context) : bench_(context) {}
  static KindInfo info();
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Machine& machine,
                                   const std::atomic<bool>& stop) override;

 private:
  Bench bench_;
  QuestionShelf questions_;
};

}  // namespace reprise::experiments
