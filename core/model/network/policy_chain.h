// Combines several layer policies: for each layer, the first choice other than kCompute applies.
#pragma once

#include <memory>
#include <vector>

#include "core/model/network/layer_policy.h"

namespace reprise::model {

// Asks its policies in order. The first choice other than kCompute applies to the layer:
// overruled() is called on all other policies, and later ones are not asked. If all compute, the
// map is kept or shown if any policy asks for it, and shown only to the policies that asked. There
// is only one kept map, so two policies that share maps (methods/layer_policies) cannot be
// combined.
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
  // [policies]  true if the policy asked to be shown the current layer's map
  std::vector<bool> wants_map_;
};

}  // namespace reprise::model
