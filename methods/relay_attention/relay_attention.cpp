#include "methods/relay_attention/relay_attention.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::methods {

reuse::PoolNeed RelayAttention::pool_need(const reuse::EngineLimits& limits) const {
  reuse::PoolNeed need = PrefixTreeCache::pool_need(limits);
  // Most blocks are needed if all prefixes but one are very short. The base class counts
  // blocks_for(prefix_tokens) blocks for the long prefix, and one block for each other prefix. A
  // buffer adds only the blocks that its prefix leaves empty.
  const int64_t buffer = blocks_for(options_.prefix_buffer_tokens);
  const int64_t of_long = blocks_for(limits.prefix_tokens);
  const int64_t of_others = limits.prefix_tokens > 0 ? 1 : 0;
  need.num_blocks += std::max<int64_t>(0, buffer - of_long) +
                     (limits.prefixes - 1) * std::max<int64_t>(0, buffer - of_others);
  return need;
}

void RelayAttention::declare_prefix(reuse::RequestId id, std::span<const int32_t> tokens) {
  if (options_.most_prefixes > 0 && std::ssize(buffers_) >= options_.most_prefixes)
    raise(
        "method \"relay_attention\" was told to keep {} prefix(es) and has them: drop one, declare "
        "no more, or choose another preset",
        options_.most_prefixes);
  PrefixTreeCache::declare_prefix(id, tokens);
  buffers_.emplace(id, std::vector<int32_t>());
}

reuse::Admission RelayAttention::admit(const reuse::NewSequence& sequence, kv::BlockPool& pool) {
  const auto buffer = buffers_.find(sequence.id);
  if (buffer == buffers_.end()) return PrefixTreeCache::admit(sequence, pool);
  const auto blocks = static_cast<int32_t>(std::max<int64_t>(
      0, blocks_for(options_.prefix_buffer_tokens) - blocks_for(std::ssize(sequence.tokens))));
  reuse::NewSequence prefix = sequence;
  prefix.spare_blocks += blocks;
  const reuse::Admission admission = PrefixTreeCache::admit(prefix, pool);
  if (!admission.admitted) return admission;
  for (int32_t i = 0; i < blocks; ++i) buffer->second.push_back(take_block(pool));
  return admission;
}

void RelayAttention::retire(reuse::RequestId id, kv::BlockPool& pool) {
  PrefixTreeCache::retire(id, pool);
  release_buffer(id, pool);
}

void RelayAttention::drop_prefix(reuse::RequestId id, kv::BlockPool& pool) {
  PrefixTreeCache::drop_prefix(id, pool);
  release_buffer(id, pool);
  buffers_.erase(id);
}

void RelayAttention::release_buffer(reuse::RequestId prefix, kv::BlockPool& pool) {
  const auto found = buffers_.find(prefix);
  if (found == buffers_.end()) return;
  for (const int32_t block : found->second) pool.release(block);
  found->second.clear();
}

reuse::PrefixUse RelayAttention::prefix_use(reuse::RequestId id) const {
  reuse::PrefixUse use = PrefixTreeCache::prefix_use(id);
  if (use.blocks > 0) use.blocks += static_cast<int32_t>(buffers_.at(id).size());
  return use;
}

}  // namespace reprise::methods
