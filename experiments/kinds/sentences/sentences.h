// Kind "sentences": measures, for each way to run a model's layers, how well the model's sentence
// vectors or likeliest answers agree with people's judgement, and the cost of a text.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/tokenizer/tokenizer.h"
#include "experiments/framework/kind.h"
#include "experiments/kinds/sentences/sentence_sets.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {

// A group's methods take turns: in each repetition every method reads all texts of the workload,
// with as many texts in a step as `reprise embed` takes. Texts are tokenized before anything is
// timed. The vectors of the last repetition are scored; every repetition computes the same vectors.
class SentencesKind : public Kind {
 public:
  explicit SentencesKind(const Context& context) : bench_(context) {}
  static KindInfo info();
  [[nodiscard]] std::string missing(const MethodChoice& method) const override;
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Machine& machine,
                                   const std::atomic<bool>& stop) override;

 private:
  Bench bench_;
  // Results of methods' long preparations with the model that kept_of_ names. Cleared when the
  // model changes.
  methods::Keepsakes kept_;
  std::string kept_of_;
};

}  // namespace reprise::experiments
