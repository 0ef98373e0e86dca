#include "methods/cache_method.h"
#include "methods/chunk_attention/chunk_attention.h"

namespace reprise::methods {

MethodEntry chunk_attention_method() {
  return cache_method<ChunkAttention, ChunkAttentionOptions>(
      {.name = "chunk_attention",
       .summary = "prefix tree of chunks; shared ones are read once for all their sequences",
       .paper = "ChunkAttention",
       .exactness = Exactness::kExact,
       .look = {.color = "#009E73", .marker = "^"}});
}

}  // namespace reprise::methods
