// The auto planner: a prefix tree of any depth. For each node it estimates the cost on this machine
// of reading the node once for all its sequences, and of reading it once per sequence, and takes
// the cheaper way.
#pragma once

#include <memory>

#include "core/reuse/prefix_tree_cache.h"
#include "core/reuse/tree_options.h"
#include "methods/auto/plan_cost.h"

namespace reprise::methods {

// The options of auto's prefix tree, without the function that decides which nodes are shared.
reuse::PrefixTreeCacheOptions auto_tree(const reuse::TreeOptions& options);

// Keeps the prefix tree of [ChunkAttention §3.1]. PlanCosts decides for each node whether it is
// read chunk-first; tune() computes these costs from the model's heads and the machine's limits.
class Auto final : public reuse::PrefixTreeCache {
 public:
  explicit Auto(const reuse::TreeOptions& options);
  void tune(const reuse::PlanSetting& setting) override;
  // A batch-invariant context makes Auto batch-invariant: PlanCosts::sharing_pays() is then always
  // false.
  [[nodiscard]] std::string why_not_batch_invariant() const override { return ""; }

 private:
  Auto(const reuse::TreeOptions& options, std::shared_ptr<PlanCosts> costs);

  std::shared_ptr<PlanCosts> costs_;  // shared with the function that judges a node
};

}  // namespace reprise::methods
