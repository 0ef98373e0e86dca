// Base class of methods that keep their sequences in a prefix tree. The methods differ in which
// prefixes they match, and in which tree nodes they read once for several sequences.
#pragma once

#include <memory>
#include <unordered_set>
#include <vector>

#include "core/reuse/prefix_tree.h"
#include "core/reuse/sequence_cache.h"
#include "core/reuse/tree_plan.h"

namespace reprise::reuse {

struct PrefixTreeCacheOptions {
  PrefixTreeOptions tree;
  // If true, tokens found in the tree are not computed again, and a request waits while another one
  // computes its prefix. If false, every sequence computes its whole prompt, but stores no states
  // that the tree holds already. So only memory and reads are shared.
  bool reuse_prefill = false;
  TreePlanOptions plan;
};

class PrefixTreeCache : public SequenceCache, public PrefixKeeper, public Relocatable {
 public:
  // If `shares` is empty, no node is read once for several sequences.
  PrefixTreeCache(const PrefixTreeCacheOptions& options, ShareDecision shares);

  [[nodiscard]] PoolNeed pool_need(const EngineLimits& limits) const override;
  [[nodiscard]] ReusePromise promise() const override {
    return {.declared = options_.reuse_prefill && matches_pinned(options_.tree.matching),
            .found = options_.reuse_prefill && matches_chunks(options_.tree.matching)};
  }
  [[nodiscard]] bool retains() const override { return options_.tree.retain; }
  Admission admit(const NewSequence& sequence, kv::BlockPool& pool) override;
  [[nodiscard]] int32_t tokens_in_cache(const NewSequence& sequence) const override;
  void retire(RequestId id, kv::BlockPool& pool) override;
  [[nodiscard]] int32_t held_blocks(RequestId id) const override {
    return static_cast<int32_t>(tree_.sequence(id).path.size());
  }
  [[nodiscard]] Relocatable* relocatable() override { return this; }
  void locate(RequestId id, int32_t first_token, int32_t end_token, const kv::BlockPool& pool,
              std::vector<kv::TokenRun>& runs) const override;
  [[nodiscard]] int32_t lasting_tokens(RequestId id) const override;
  void restored(RequestId id, int32_t first_token, int32_t end_token) override {
    tree_.mark_computed(id, first_token, end_token);
  }
  // Null if the cache does not match pinned prefixes; sequences then find shared chunks without
  // declared prefixes.
  [[nodiscard]] PrefixKeeper* prefix_keeper() override {
    return matches_pinned(options_.tree.matching) ? this : nullptr;
  }
  [[nodiscard]] std::string why_not_batch_invariant() const override;
  void declare_prefix(RequestId id, std::span<const int32_t> tokens) override;
  void keep_prefix(RequestId id, kv::BlockPool& pool) override;
  void drop_prefix(RequestId id, kv::BlockPool& pool) override;
  [[nodiscard]] PrefixUse prefix_use(RequestId id) const override;
  [[nodiscard]] int64_t row_rank(RequestId id) const override { return tree_.sequence(id).rank; }
  [[nodiscard]] int32_t cached_tokens(RequestId, int32_t tokens) const override { return tokens; }
  [[nodiscard]] bool reserve(StepBatch batch, kv::BlockPool& pool) override;
  [[nodiscard]] bool advance(StepBatch batch, const kv::BlockPool& pool,
                             kv::AttentionPlan& plan) override {
    return planner_.advance(tree_, batch, pool, plan);
  }
  void plan(StepBatch batch, const kv::BlockPool& pool, kv::AttentionPlan& plan) override {
    planner_.write(tree_, batch, pool, plan);
  }
  void computed(StepBatch batch, kv::BlockPool& pool) override;
  void report(const MetricSink& sink) const override;

  [[nodiscard]] const PrefixTree& tree() const { return tree_; }

 protected:
  [[nodiscard]] int64_t blocks_for(int64_t tokens) const;
  // Takes a block for the derived class, which must release it. Frees an unused chunk if necessary.
  int32_t take_block(kv::BlockPool& pool) { return tree_.take_block(pool); }

 private:
  PrefixTreeCacheOptions options_;
  bool may_share_reads_;
  PrefixTree tree_;
  TreePlanner planner_;
  std::unordered_set<RequestId> prefixes_;  // ids of the declared prefixes
  int64_t matched_tokens_ = 0, reused_tokens_ = 0, block_bytes_ = 0;
};

}  // namespace reprise::reuse
