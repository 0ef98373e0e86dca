
#include "methods/lazy_former/lazy_former.h"
#include "methods/policy_method.h"

namespace reprise::methods {
namespace {

MadePolicy make(const MethodInfo& /*info*/, const lazy_former::LazyFormerOptions& options,
                const Setup& setup) {
  return {.policy = lazy_former::make_lazy_former(options, setup.config.layers)};
}

}  // namespace

MethodEntry lazy_former_method() {
  return policy_method<lazy_former::LazyFormerOptions>(
      {.name = "lazy_former",
       .summary = "of each block of layers, the first computes its map and the others use it",
       .paper = "LazyFormer",
       .exactness = Exactness::kApproximate,
       .look = {.color = "", .marker = ""},
       .skips_layers = false,
       .cannot_generate =
           "it is compared on prompts alone: kinds \"prefill\" and \"sentences\", `reprise embed`"},
      make);
}

}  // namespace reprise::methods
