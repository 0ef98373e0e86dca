// What can be chosen about ChunkAttention.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/json.h"
#include "core/reuse/tree_options.h"

namespace reprise::methods {

struct ChunkAttentionOptions {
  reuse::TreeOptions tree;
  int32_t share_threshold = 1;          // chunks of more sequences of the step are read chunk-first
  bool item_per_shared_chunk = false;   // else neighbouring chunks of equal readers are one item
  bool item_per_private_chunk = false;  // else what a sequence reads alone is one item
};

// Throws Error naming the option, what was found and what is accepted.
ChunkAttentionOptions read_chunk_attention_options(JsonObject& options);

}  // namespace reprise::methods
