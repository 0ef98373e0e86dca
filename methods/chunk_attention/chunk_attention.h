// ChunkAttention: a prefix-aware KV cache that attention reads in two phases, shared chunks first.
#pragma once

#include "core/reuse/prefix_tree_cache.h"
#include "methods/chunk_attention/options.h"

namespace reprise::methods {

// Keeps the prefix tree of [ChunkAttention §3.1] and plans as in [§3.2]: first work items over
// shared chunks, each with the rows of all sequences that read these chunks, then for each sequence
// one work item over the chunks that it reads alone.
class ChunkAttention final : public reuse::PrefixTreeCache {
 public:
  explicit ChunkAttention(const ChunkAttentionOptions& options)
      : PrefixTreeCache(
            {.tree = {.chunk_tokens = options.tree.chunk_tokens,
                      .matching = reuse::Matching::kChunks,
                      .retain = options.tree.retain},
             .reuse_prefill = options.tree.reuse_prefill,
             .plan = {.shared_partition_tokens =
                          options.item_per_shared_chunk ? options.tree.chunk_tokens : 0,
                      .private_partition_tokens =
                          options.item_per_private_chunk ? options.tree.chunk_tokens : 0,
                      .reduction = options.direct_reduction ? kv::Reduction::kDirect
                                                            : kv::Reduction::kMerge}},
            [threshold = options.share_threshold](const reuse::TreeNode& node) {
              return node.sequences > threshold;
            }) {}
};

}  // namespace reprise::methods
