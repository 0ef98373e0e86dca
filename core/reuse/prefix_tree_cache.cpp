#include "core/reuse/prefix_tree_cache.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::reuse {

PrefixTreeCache::PrefixTreeCache(const PrefixTreeCacheOptions& options, ShareDecision shares)
    : options_(options),
      may_share_reads_(shares != nullptr),
      tree_(options.tree),
      planner_(std::move(shares), options.plan) {}

std::string PrefixTreeCache::why_not_batch_invariant() const {
  if (may_share_reads_)
    return "it reads what sequences share once for all of them, so the sums of a sequence are "
           "added up otherwise when it is alone";
  if (options_.plan.private_partition_tokens > 0)
    return "it reads each sequence in partitions, and a sequence must be read as a whole; leave "
           "out \"version\": 2";
  return "";
}

int64_t PrefixTreeCache::blocks_for(int64_t tokens) const {
  return (tokens + options_.tree.chunk_tokens - 1) / options_.tree.chunk_tokens;
}

PoolNeed PrefixTreeCache::pool_need(const EngineLimits& limits) const {
  int64_t blocks = limits.max_batch * blocks_for(limits.max_sequence_tokens);
  if (limits.prefix_tokens > 0 && (matches_pinned(options_.tree.matching) || options_.tree.retain))
    blocks += blocks_for(limits.prefix_tokens) + limits.prefixes - 1;
  return {.block_tokens = options_.tree.chunk_tokens, .num_blocks = blocks};
}

Admission PrefixTreeCache::admit(const NewSequence& sequence, kv::BlockPool& pool) {
  if (tree_.contains(sequence.id)) raise("request id {} is in use already", sequence.id);
  block_bytes_ = pool.block_bytes();
  const PrefixMatch match = prefixes_.contains(sequence.id)
                                ? tree_.match_to_pin(sequence.tokens, sequence.positions)
                                : tree_.match(sequence.tokens, sequence.positions);
  if (options_.reuse_prefill && match.computed < match.tokens) return {};
  const auto tokens = static_cast<int32_t>(sequence.tokens.size());
  // The states of the last generated token are never computed, so it needs no room.
  const int32_t most_tokens = tokens + std::max(0, sequence.max_new_tokens - 1);
  if (!tree_.insert(sequence.id, match, sequence.tokens, sequence.positions, most_tokens,
                    sequence.spare_blocks, pool))
    return {};
  matched_tokens_ += match.tokens;
  // The last token is always computed, because its row gives the next token.
  const int32_t reused = options_.reuse_prefill
                             ? std::min({match.tokens, tokens - 1, sequence.most_reused_tokens})
                             : 0;
  reused_tokens_ += reused;
  return {.admitted = true, .reused_tokens = reused};
}

int32_t PrefixTreeCache::tokens_in_cache(const NewSequence& sequence) const {
  if (!options_.reuse_prefill) return 0;
  return std::min({tree_.match(sequence.tokens, sequence.positions).computed,
                   static_cast<int32_t>(sequence.tokens.size()) - 1, sequence.most_reused_tokens});
}

void PrefixTreeCache::retire(RequestId id, kv::BlockPool& pool) { tree_.remove(id, pool); }

void PrefixTreeCache::locate(RequestId id, int32_t first_token, int32_t end_token,
                             const kv::BlockPool& pool, std::vector<kv::TokenRun>& runs) const {
  const TreeSequence& sequence = tree_.sequence(id);
  for (int32_t token = first_token; token < end_token;) {
    const int32_t k = sequence.chunk_of(token, options_.tree.chunk_tokens);
    const Chunk& chunk = tree_.chunk(sequence.path[static_cast<size_t>(k)]);
    const int32_t in_chunk = token - chunk.first_token;
    const bool is_computed = in_chunk < chunk.computed;
    const int32_t end =
        std::min(end_token, chunk.first_token + (is_computed ? chunk.computed : chunk.filled()));
    runs.push_back({.first_token = token,
                    .tokens = end - token,
                    .offset = pool.offset_of(chunk.block, in_chunk),
                    .is_computed = is_computed});
    token = end;
  }
}

int32_t PrefixTreeCache::lasting_tokens(RequestId id) const {
  int32_t tokens = 0;
  if (!options_.reuse_prefill) return tokens;
  for (const int32_t index : tree_.sequence(id).path) {
    const Chunk& chunk = tree_.chunk(index);
    const bool lasts = (chunk.users > 1 || chunk.pins > 0) && chunk.computed == chunk.filled();
    if (!lasts || !tree_.can_be_found(chunk)) break;
    tokens += chunk.filled();
  }
  return tokens;
}

void PrefixTreeCache::declare_prefix(RequestId id, std::span<const int32_t> /*tokens*/) {
  prefixes_.insert(id);
}

void PrefixTreeCache::keep_prefix(RequestId id, kv::BlockPool& pool) { tree_.pin(id, pool); }

void PrefixTreeCache::drop_prefix(RequestId id, kv::BlockPool& pool) {
  if (tree_.is_pinned(id)) tree_.unpin(id, pool);
  prefixes_.erase(id);
}

PrefixUse PrefixTreeCache::prefix_use(RequestId id) const {
  if (!tree_.is_pinned(id)) return {};
  const std::span<const int32_t> path = tree_.pinned_path(id);
  return {.blocks = static_cast<int32_t>(path.size()), .users = tree_.chunk(path.back()).users};
}

bool PrefixTreeCache::reserve(StepBatch batch, kv::BlockPool& pool) {
  for (const StepSequence& part : batch)
    for (int32_t token = tree_.sequence(part.id).tokens; token < part.first_token + part.rows;
         ++token)
      if (!tree_.append(part.id, part.tokens[static_cast<size_t>(token)],
                        part.positions[static_cast<size_t>(token)], pool))
        return false;
  return true;
}

void PrefixTreeCache::computed(StepBatch batch, kv::BlockPool& /*pool*/) {
  for (const StepSequence& part : batch)
    tree_.mark_computed(part.id, part.first_token, part.first_token + part.rows);
}

void PrefixTreeCache::report(const MetricSink& sink) const {
  const double token_bytes =
      static_cast<double>(block_bytes_) / static_cast<double>(options_.tree.chunk_tokens);
  sink("reused_tokens", static_cast<double>(reused_tokens_), "tokens");
  sink("matched_tokens", static_cast<double>(matched_tokens_), "tokens");
  sink("peak_shared_kv_bytes", static_cast<double>(tree_.peak_shared_tokens()) * token_bytes,
       "bytes");
  sink("retained_kv_bytes",
       static_cast<double>(tree_.unused_chunks()) * static_cast<double>(block_bytes_), "bytes");
  sink("plans_built", static_cast<double>(planner_.plans_built()), "plans");
  sink("plans_advanced", static_cast<double>(planner_.plans_advanced()), "plans");
}

}  // namespace reprise::reuse
