// RelayAttention: declared system prompts are computed once and read once per step for all
// requests.
#pragma once

#include "core/reuse/prefix_tree_cache.h"
#include "methods/relay_attention/options.h"

namespace reprise::methods {

// A request belongs to the longest declared prefix of its tokens. System attention is one item with
// all rows of a prefix's requests, context attention is one item per request, and the merge of
// partial results is the relay fusion.   [RelayAttention §3.3, eq. 7]
class RelayAttention final : public reuse::PrefixTreeCache {
 public:
  explicit RelayAttention(const RelayAttentionOptions& options)
      : PrefixTreeCache(
            {.tree = {.chunk_tokens = options.block_tokens, .matching = reuse::Matching::kPinned},
             .reuse_prefill = true,
             .most_prefixes = options.most_prefixes,
             .method = "relay_attention",
             .prefix_buffer_tokens = options.prefix_buffer_tokens},
            [](const reuse::TreeNode& node) { return node.is_pinned; }) {}
};

}  // namespace reprise::methods
