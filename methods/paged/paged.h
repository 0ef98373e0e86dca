// PagedAttention: each sequence keeps its keys and values in fixed-size blocks of its own.
#pragma once

#include "core/reuse/paged_options.h"
#include "core/reuse/prefix_tree_cache.h"

namespace reprise::methods {

class Paged final : public reuse::PrefixTreeCache {
 public:
  explicit Paged(const reuse::PagedOptions& options)
      : PrefixTreeCache(
            {.tree = {.chunk_tokens = options.block_tokens, .matching = reuse::Matching::kNone},
             .plan = options.plan()},
            /*shares=*/nullptr) {}
};

}  // namespace reprise::methods
