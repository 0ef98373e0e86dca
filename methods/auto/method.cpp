#include "methods/auto/auto.h"
#include "methods/cache_method.h"

namespace reprise::methods {

MethodEntry auto_method() {
  return cache_method<Auto, reuse::TreeOptions>(
      {.name = "auto",
       .summary = "prefix tree; each node is shared where the machine's limits say it pays",
       .paper = "",
       .exactness = Exactness::kExact,
       .look = {.color = "#E69F00", .marker = "v"}});
}

}  // namespace reprise::methods
