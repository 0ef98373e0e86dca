// Combines several layer policies: for each layer, the first choice that is not kCompute decides.
#pragma once

#include <memory>
#include <vector>

#include "core/model/network/layer_policy.h"

namespace reprise::model {

// Asks its policies in order. The first choice that is not kCompute decides the layer: all other
// policies get overruled(), and later ones are not asked. If all compute, the map is kept or shown
// if any policy asks for it, and shown only to the policies that asked. There is only one kept map,
// so two policies that share maps (methods/layer_policies) cannot be combined.
class PolicyChain final : public LayerPolicy {
 public:
  // No policy may be null (CHECK).
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
  std::vector<bool> wants_map_;  // [policies]  asked to be shown the current layer's map
};

}  // namespace reprise::model
