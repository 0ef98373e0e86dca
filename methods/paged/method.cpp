#include "methods/cache_method.h"
#include "methods/paged/paged.h"

namespace reprise::methods {

MethodEntry paged_method() {
  return cache_method<Paged, reuse::PagedOptions>(
      {.name = "paged",
       .summary = "fixed-size blocks for each sequence, taken as it grows; nothing is shared",
       .paper = "PagedAttention",
       .exactness = Exactness::kExact,
       .look = {.color = "#0072B2", .marker = "o"}});
}

}  // namespace reprise::methods
