#include "experiments/kinds/sentence_methods.h"

#include "core/base/error.h"

namespace reprise::experiments {
namespace {

constexpr const char* kCompute = "compute";
constexpr const char* kMaps = "maps";

class Compute final : public SentenceMethod {};

// The same numbers by a slower way, which the published measurements took for their baseline.
class Maps final : public SentenceMethod {
 public:
  [[nodiscard]] model::LayerPolicy* policy() override { return &policy_; }

 private:
  class EveryMap final : public model::LayerPolicy {
   public:
    model::LayerChoice choose(model::LayerInput& /*input*/) override { return {.keep_map = true}; }
  };
  EveryMap policy_;
};

}  // namespace

std::vector<OwnMethod> sentence_methods() {
  return {{kCompute, "every layer computes: what the others are compared with"},
          {kMaps, "every layer computes its attention map as a value first: eager attention"}};
}

std::unique_ptr<SentenceMethod> make_sentence_method(const MethodChoice& method) {
  if (method.name == kCompute) return std::make_unique<Compute>();
  if (method.name == kMaps) return std::make_unique<Maps>();
  raise("kind sentences embeds by a layer's choices: {}",
        unknown_name("method", method.name, names_of(sentence_methods())));
}

}  // namespace reprise::experiments
