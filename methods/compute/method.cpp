#include "methods/policy_method.h"

namespace reprise::methods {

MethodEntry compute_method() {
  return policy_method<reuse::NoOptions>(
      {.name = "compute",
       .summary = "every layer computes: what the others are compared with",
       .paper = "",
       .exactness = Exactness::kExact,
       .look = {},
       .cannot_generate = "it keeps no keys and values: take \"contiguous\""},
      [](const MethodInfo&, const reuse::NoOptions&, const Setup&) { return MadePolicy{}; });
}

}  // namespace reprise::methods
