// Ways to run a model's layers while it embeds sentences: computing all of them, or not.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/model/network/layer_policy.h"
#include "core/sentence/text_reader.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

// Texts that no query has, and that have none in common.
struct SetApart {
  std::span<const std::string> database;  // to be stored
  std::span<const std::string> training;  // to learn from before that (a projector, a threshold)
};

class SentenceMethod {
 public:
  virtual ~SentenceMethod() = default;
  // Once, before the first query.
  virtual void prepare(sentence::TextReader& /*reader*/, const SetApart& /*texts*/) {}
  // Decides each layer of the queries' steps; null: every layer computes.
  [[nodiscard]] virtual model::LayerPolicy* policy() { return nullptr; }
  // What the method counted, as metrics.
  virtual void report(Measurement& /*out*/) const {}
};

// The single list of them.
[[nodiscard]] std::vector<OwnMethod> sentence_methods();
// Throws Error for a method that is none of them, with the nearest.
std::unique_ptr<SentenceMethod> make_sentence_method(const MethodChoice& method);

}  // namespace reprise::experiments
