// The auto planner: a prefix tree of any depth whose nodes are read once for all their sequences
// where that costs less on this machine.
#pragma once

#include <memory>

#include "core/engine/plan_cost.h"
#include "core/engine/prefix_tree_method.h"
#include "core/engine/tree_options.h"

namespace reprise::methods {

// ChunkAttention's tree [§3.1] with the decision of each node left to engine::PlanCosts, which
// tune() provides with the model's heads and the machine's limits.
class Auto final : public engine::PrefixTreeMethod {
 public:
  explicit Auto(const engine::TreeOptions& options);

  [[nodiscard]] engine::MethodInfo info() const override {
    return {.name = "auto",
            .summary = "prefix tree; each node is shared where the machine's limits say it pays",
            .paper = "",
            .exactness = engine::Exactness::kExact};
  }
  void tune(const engine::PlanSetting& setting) override;

 private:
  Auto(const engine::TreeOptions& options, std::shared_ptr<engine::PlanCosts> costs);

  std::shared_ptr<engine::PlanCosts> costs_;  // shared with the decision
};

}  // namespace reprise::methods
