#include "methods/cache_method.h"
#include "methods/recompute/recompute.h"

namespace reprise::methods {

MethodEntry recompute_method() {
  return cache_method<Recompute>(
      {.name = "recompute",
       .summary = "no cache: each new token computes all tokens before it again",
       .paper = "",
       .exactness = Exactness::kExact,
       .look = {.color = "#010101", .marker = "X"}});
}

}  // namespace reprise::methods
