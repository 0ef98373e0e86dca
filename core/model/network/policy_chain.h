// Several layer policies as one: the first that wants something else than computing decides.
#pragma once

#include <memory>
#include <vector>

#include "core/model/network/layer_policy.h"

namespace reprise::model {

// Asks its policies in order. The first whose choice is not kCompute decides the layer, and the
// others are told that they were overruled; those behind it are not asked. Where all want to
// compute, a map is kept or shown if any of them asks for that; whoever asked sees it.
// One kept map serves all: policies that share maps (layer_rules.h) do not go together.
class PolicyChain final : public LayerPolicy {
 public:
  // None may be null (CHECK).
  explicit PolicyChain(std::vector<std::shared_ptr<LayerPolicy>> policies);

  [[nodiscard]] bool has_a_say() const override;
  LayerChoice choose(LayerInput& input) override;
  [[nodiscard]] bool is_of_prefill_alone() const override;
  void observe_map(int64_t layer, const kernels::MapView& map) override;
  [[nodiscard]] bool reads_residual() const override;
  void passed(int64_t layer, BlockPoint point, const TensorView& residual) override;
  void overruled(int64_t layer) override;

 private:
  std::vector<std::shared_ptr<LayerPolicy>> policies_;
  std::vector<bool> wants_map_;  // of the layer under way: which asked to be shown its map
};

}  // namespace reprise::model
