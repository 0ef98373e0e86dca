#include "experiments/kinds/sentences/prefill_methods.h"

#include "core/base/error.h"
#include "experiments/kinds/sentences/attn_cache_method.h"
#include "experiments/kinds/sentences/rival_methods.h"

namespace reprise::experiments {
namespace {

constexpr const char* kCompute = "compute";
constexpr const char* kMaps = "maps";

class Compute final : public PrefillMethod {};

// The same numbers by a slower way, which the published measurements took for their baseline.
class Maps final : public PrefillMethod {
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

std::vector<OwnMethod> prefill_methods() {
  std::vector<OwnMethod> methods = {
      {.name = kCompute, .help = "every layer computes: what the others are compared with"},
      {.name = kMaps,
       .help = "every layer computes its attention map as a value first: eager attention"},
      attn_cache_method()};
  for (OwnMethod& rival : rival_methods()) methods.push_back(std::move(rival));
  return methods;
}

std::unique_ptr<PrefillMethod> make_prefill_method(const MethodChoice& method) {
  if (method.name == kCompute) return std::make_unique<Compute>();
  if (method.name == kMaps) return std::make_unique<Maps>();
  if (method.name == kAttnCache) return make_attn_cache_method(method.options);
  if (is_rival(method.name)) return make_rival_method(method.name, method.options);
  raise("layers are computed, or not, by these: {}",
        unknown_name("method", method.name, names_of(prefill_methods())));
}

std::string missing_for(const MethodChoice& method) {
  return method.name == kAttnCache ? attn_cache_absence(method.options) : "";
}

std::vector<MetricInfo> prefill_method_metrics() { return attn_cache_metrics(); }

}  // namespace reprise::experiments
