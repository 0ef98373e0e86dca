#include "methods/cache_method.h"
#include "methods/paged_shared/paged_shared.h"

namespace reprise::methods {

MethodEntry paged_shared_method() {
  return cache_method<PagedShared, PagedSharedOptions>(
      {.name = "paged_shared",
       .summary = "paged, but full blocks of an equal prefix are the same memory",
       .paper = "ChunkAttention (PagedAttn*)",
       .exactness = Exactness::kExact,
       .look = {.color = "#CC79A7", .marker = "D"}});
}

}  // namespace reprise::methods
