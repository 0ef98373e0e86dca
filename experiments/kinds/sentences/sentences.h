// Kind "sentences": the agreement of a model's sentence vectors or likeliest answers with people,
// and the cost of a text, for each way to run its layers.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/tokenizer/tokenizer.h"
#include "experiments/framework/kind.h"
#include "experiments/kinds/sentences/sentence_sets.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {

// A point's methods read all texts of the workload in turn, repetition by repetition, with as many
// texts in a step as `reprise embed` takes. Texts are tokenized before anything is timed. The
// vectors of the last repetition are scored; every repetition computes the same vectors.
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
  // Results of methods' long preparations with the model kept_of_. Cleared when the model changes.
  methods::Keepsakes kept_;
  std::string kept_of_;
};

}  // namespace reprise::experiments
