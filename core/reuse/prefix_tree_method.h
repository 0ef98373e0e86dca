// Methods that keep their sequences in a prefix tree: what they match and which nodes they share is
// what tells them apart.
#pragma once

#include <memory>
#include <unordered_set>
#include <vector>

#include "core/reuse/prefix_tree.h"
#include "core/reuse/reuse_method.h"
#include "core/reuse/tree_plan.h"

namespace reprise::reuse {

struct PrefixTreeMethodOptions {
  PrefixTreeOptions tree;
  // Tokens found in the tree are not computed again. A request whose prefix another one is
  // computing waits for it. Without: every sequence computes its whole prompt, what the tree has
  // already is thrown away, and only memory and reads are shared.
  bool reuse_prefill = false;
  // Pinned prefixes, where they are matched.
  int32_t most_prefixes = 0;         // 0: as many as are declared
  int32_t prefix_buffer_tokens = 0;  // memory each prefix takes at least
  TreePlanOptions plan;
};

class PrefixTreeMethod : public ReuseMethod {
 public:
  PrefixTreeMethod(const PrefixTreeMethodOptions& options, ShareDecision shares);

  [[nodiscard]] PoolNeed pool_need(const EngineLimits& limits) const override;
  Admission admit(const NewSequence& sequence, kv::BlockPool& pool) override;
  // Throws Error for one prefix more than most_prefixes.
  bool wants_prefix(RequestId id, std::span<const int32_t> tokens) override;
  [[nodiscard]] int64_t row_rank(RequestId id) const override { return tree_.sequence(id).rank; }
  [[nodiscard]] int32_t cached_tokens(RequestId, int32_t tokens) const override { return tokens; }
  void reserve(StepBatch batch, kv::BlockPool& pool) override;
  void plan(StepBatch batch, const kv::BlockPool& pool, kv::AttentionPlan& out) override;
  void computed(StepBatch batch, kv::BlockPool& pool) override;
  void retire(RequestId id, kv::BlockPool& pool) override;
  void report(const MetricSink& sink) const override;

  [[nodiscard]] const PrefixTree& tree() const { return tree_; }

 private:
  [[nodiscard]] int32_t blocks_for(int32_t tokens) const;
  // Blocks that admitting one more sequence must leave for duplicate rows.
  [[nodiscard]] int32_t discard_need() const;
  void release_discard_blocks(kv::BlockPool& pool);

  PrefixTreeMethodOptions options_;
  PrefixTree tree_;
  TreePlanner planner_;
  std::unordered_set<RequestId> prefixes_under_way_;
  std::vector<int32_t> discard_blocks_;  // of the step under way
  std::vector<int32_t> prefix_buffer_blocks_;
  int64_t matched_tokens_ = 0, reused_tokens_ = 0, block_bytes_ = 0;
};

}  // namespace reprise::reuse
