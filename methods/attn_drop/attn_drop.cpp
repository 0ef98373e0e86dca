#include "methods/attn_drop/attn_drop.h"

#include <vector>

#include "methods/layer_policies/layer_rules.h"

namespace reprise::attn_drop {

std::unique_ptr<model::LayerPolicy> make_attn_drop(const AttnDropOptions& options,
                                                   std::span<const model::LayerCosine> layers) {
  std::vector<double> cosines;
  for (const model::LayerCosine& layer : layers) cosines.push_back(layer.attention);
  return std::make_unique<model::LayerSkipping>(
      model::most_similar_layers(cosines, options.dropped), std::ssize(layers),
      model::LayerAction::kSkipAttention);
}

}  // namespace reprise::attn_drop
