// The auto planner: a prefix tree of any depth whose nodes are read once for all their sequences
// where that costs less on this machine.
#pragma once

#include <memory>

#include "core/reuse/plan_cost.h"
#include "core/reuse/prefix_tree_cache.h"
#include "core/reuse/tree_options.h"

namespace reprise::methods {

// ChunkAttention's tree [§3.1] with the decision of each node left to reuse::PlanCosts, which
// tune() provides with the model's heads and the machine's limits.
class Auto final : public reuse::PrefixTreeCache {
 public:
  explicit Auto(const reuse::TreeOptions& options);
  void tune(const reuse::PlanSetting& setting) override;

 private:
  Auto(const reuse::TreeOptions& options, std::shared_ptr<reuse::PlanCosts> costs);

  std::shared_ptr<reuse::PlanCosts> costs_;  // shared with the decision
};

}  // namespace reprise::methods
