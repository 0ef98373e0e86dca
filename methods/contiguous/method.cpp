#include "core/reuse/block_per_sequence.h"
#include "methods/cache_method.h"

namespace reprise::methods {

MethodEntry contiguous_method() {
  return cache_method<reuse::ContiguousCache>(
      {.name = "contiguous",
       .summary = "plain KV cache: one contiguous private block for each sequence",
       .paper = "",
       .exactness = Exactness::kExact,
       .look = {.color = "#56B4E9", .marker = "P"}});
}

}  // namespace reprise::methods
