// How a paged cache is cut: what the paged methods' options have in common.
#pragma once

#include <cstdint>

#include "core/base/json.h"
#include "core/reuse/tree_plan.h"

namespace reprise::reuse {

struct PagedOptions {
  int32_t block_tokens = 64;       // as long as a chunk of chunk_attention's
  int32_t version = 1;             // 2: attention is split along the sequence
  int32_t partition_tokens = 512;  // into parts of so many tokens, a multiple of block_tokens

  [[nodiscard]] TreePlanOptions plan() const {
    return {.private_partition_tokens = version == 2 ? partition_tokens : 0};
  }
};

// Reads "block_tokens" (8 to 128), "version" (1 or 2) and "partition_tokens"; throws Error naming
// the option.
PagedOptions read_paged_options(JsonObject& options);

}  // namespace reprise::reuse
