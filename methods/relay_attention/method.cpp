#include "methods/cache_method.h"
#include "methods/relay_attention/relay_attention.h"

namespace reprise::methods {

MethodEntry relay_attention_method() {
  return cache_method<RelayAttention, RelayAttentionOptions>(
      {.name = "relay_attention",
       .summary = "declared system prompts kept apart, computed once, read once for all",
       .paper = "RelayAttention",
       .exactness = Exactness::kExact,
       .look = {.color = "#D55E00", .marker = "s"}});
}

}  // namespace reprise::methods
