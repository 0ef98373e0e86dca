#include "methods/policy_method.h"

namespace reprise::methods {
namespace {

class EveryMap final : public model::LayerPolicy {
 public:
  model::LayerChoice choose(model::LayerInput& /*input*/) override { return {.keep_map = true}; }
};

}  // namespace

MethodEntry maps_method() {
  return policy_method<reuse::NoOptions>(
      {.name = "maps",
       .summary = "every layer computes its attention map as a value first: eager attention",
       .paper = "",
       .exactness = Exactness::kExact,
       .look = {},
       .cannot_generate = "it keeps no keys and values: take \"contiguous\""},
      [](const MethodInfo&, const reuse::NoOptions&, const Setup&) {
        return MadePolicy{.policy = std::make_shared<EveryMap>()};
      });
}

}  // namespace reprise::methods
