#include "core/reuse/prefix_tree_method.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::reuse {

PrefixTreeMethod::PrefixTreeMethod(const PrefixTreeMethodOptions& options, ShareDecision shares)
    : options_(options), tree_(options.tree), planner_(std::move(shares), options.plan) {}

int32_t PrefixTreeMethod::blocks_for(int32_t tokens) const {
  return (tokens + options_.tree.chunk_tokens - 1) / options_.tree.chunk_tokens;
}

// With reuse_prefill a duplicate is the last token of a prompt that is in the tree whole. Without,
// a whole step may be; the pool then has a place for every sequence unshared and for such a step.
int32_t PrefixTreeMethod::discard_need() const {
  return options_.reuse_prefill ? blocks_for(static_cast<int32_t>(tree_.size()) + 1) : 0;
}

PoolNeed PrefixTreeMethod::pool_need(const EngineLimits& limits) const {
  int32_t blocks = limits.max_batch * blocks_for(limits.max_sequence_tokens) +
                   blocks_for(options_.prefix_buffer_tokens);
  if (options_.tree.matching != Matching::kNone) blocks += blocks_for(limits.step_rows);
  if (matches_declared(options_.tree.matching) || options_.tree.retain)
    blocks += blocks_for(limits.prefix_tokens);
  return {.block_tokens = options_.tree.chunk_tokens, .num_blocks = blocks};
}

Admission PrefixTreeMethod::admit(const NewSequence& sequence, kv::BlockPool& pool) {
  if (tree_.contains(sequence.id)) raise("request id {} is in use already", sequence.id);
  block_bytes_ = pool.block_bytes();
  const bool is_prefix = prefixes_under_way_.contains(sequence.id);
  const PrefixMatch match = is_prefix ? tree_.match_to_pin(sequence.tokens, sequence.positions)
                                      : tree_.match(sequence.tokens, sequence.positions);
  if (options_.reuse_prefill && match.computed < match.tokens) return {};
  // The last new token is never computed.
  const auto most_tokens =
      static_cast<int32_t>(sequence.tokens.size()) + sequence.max_new_tokens - 1;
  const int32_t buffer_blocks =
      is_prefix ? std::max(0, blocks_for(options_.prefix_buffer_tokens) - blocks_for(most_tokens))
                : 0;
  const auto held = static_cast<int32_t>(discard_blocks_.size());
  const int32_t spare = std::max(0, discard_need() - held) + buffer_blocks;
  if (!tree_.insert(sequence.id, match, sequence.tokens, sequence.positions, most_tokens, spare,
                    pool))
    return {};
  for (int32_t i = 0; i < buffer_blocks; ++i)
    prefix_buffer_blocks_.push_back(tree_.take_block(pool));
  matched_tokens_ += match.tokens;
  const int32_t reused = options_.reuse_prefill ? match.tokens : 0;
  reused_tokens_ += std::min(reused, static_cast<int32_t>(sequence.tokens.size()) - 1);
  return {.admitted = true, .reused_tokens = reused};
}

bool PrefixTreeMethod::wants_prefix(RequestId id, std::span<const int32_t> tokens) {
  if (!matches_declared(options_.tree.matching) || tree_.has_pinned(tokens)) return false;
  if (options_.most_prefixes > 0 && tree_.pinned() >= static_cast<size_t>(options_.most_prefixes))
    raise(
        "method \"{}\" was told to keep {} prefix(es) and has them: declare no more, or choose "
        "another preset",
        info().name, options_.most_prefixes);
  prefixes_under_way_.insert(id);
  return true;
}

void PrefixTreeMethod::reserve(StepBatch batch, kv::BlockPool& pool) {
  for (const StepSequence& part : batch)
    for (int32_t token = tree_.sequence(part.id).tokens; token < part.first_token + part.rows;
         ++token)
      tree_.append(part.id, part.tokens[static_cast<size_t>(token)],
                   part.positions[static_cast<size_t>(token)], pool);
  const int32_t needed = blocks_for(TreePlanner::duplicates(tree_, batch));
  while (static_cast<int32_t>(discard_blocks_.size()) < needed) {
    const int32_t block = tree_.take_block(pool);
    REPRISE_CHECK(block >= 0, "no block is left to discard {} duplicate rows in", needed);
    discard_blocks_.push_back(block);
  }
}

void PrefixTreeMethod::plan(StepBatch batch, const kv::BlockPool& pool, kv::AttentionPlan& out) {
  planner_.plan(tree_, batch, pool, discard_blocks_, out);
}

void PrefixTreeMethod::computed(StepBatch batch, kv::BlockPool& pool) {
  for (const StepSequence& part : batch)
    tree_.mark_computed(part.id, part.first_token, part.first_token + part.rows);
  release_discard_blocks(pool);
}

void PrefixTreeMethod::release_discard_blocks(kv::BlockPool& pool) {
  for (int32_t block : discard_blocks_) pool.release(block);
  discard_blocks_.clear();
}

void PrefixTreeMethod::retire(RequestId id, kv::BlockPool& pool) {
  if (prefixes_under_way_.erase(id) > 0)
    tree_.pin(id, pool);
  else
    tree_.remove(id, pool);
  if (tree_.size() == 0) release_discard_blocks(pool);
}

void PrefixTreeMethod::report(const MetricSink& sink) const {
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
