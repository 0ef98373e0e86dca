// RelayAttention: each declared system prompt is computed once, and read once per step for all
// requests that begin with it.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/reuse/prefix_tree_cache.h"
#include "methods/relay_attention/options.h"

namespace reprise::methods {

// A request belongs to the longest declared prefix of its tokens. System attention is one work item
// for each prefix, with the rows of all its requests. Context attention is one work item per
// request. The merge of partial results is the relay fusion.   [RelayAttention §3.3, eq. 7]
class RelayAttention final : public reuse::PrefixTreeCache {
 public:
  explicit RelayAttention(const RelayAttentionOptions& options)
      : PrefixTreeCache(
            {.tree = {.chunk_tokens = options.block_tokens, .matching = reuse::Matching::kPinned},
             .reuse_prefill = true},
            [](const reuse::TreeNode& node) { return node.is_pinned; }),
        options_(options) {}

  [[nodiscard]] reuse::PoolNeed pool_need(const reuse::EngineLimits& limits) const override;
  // Throws Error if options.most_prefixes are declared already.
  void declare_prefix(reuse::RequestId id, std::span<const int32_t> tokens) override;
  reuse::Admission admit(const reuse::NewSequence& sequence, kv::BlockPool& pool) override;
  void retire(reuse::RequestId id, kv::BlockPool& pool) override;
  void drop_prefix(reuse::RequestId id, kv::BlockPool& pool) override;
  [[nodiscard]] reuse::PrefixUse prefix_use(reuse::RequestId id) const override;

 private:
  void release_buffer(reuse::RequestId prefix, kv::BlockPool& pool);

  RelayAttentionOptions options_;
  // Blocks that pad each declared prefix to the size of its buffer; none before the prefix is
  // admitted.
  std::unordered_map<reuse::RequestId, std::vector<int32_t>> buffers_;
};

}  // namespace reprise::methods
