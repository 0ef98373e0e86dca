#include "methods/block_drop/block_drop.h"

#include <vector>

#include "methods/layer_policies/layer_rules.h"

namespace reprise::block_drop {

std::unique_ptr<model::LayerPolicy> make_block_drop(const BlockDropOptions& options,
                                                    std::span<const model::LayerCosine> layers) {
  std::vector<double> cosines;
  for (const model::LayerCosine& layer : layers) cosines.push_back(layer.block);
  return std::make_unique<model::LayerSkipping>(
      model::most_similar_layers(cosines, options.dropped), std::ssize(layers),
      model::LayerAction::kSkipBlock);
}

}  // namespace reprise::block_drop
