#include "methods/block_drop/block_drop.h"

namespace reprise::block_drop {

methods::MadePolicy make_block_drop(const BlockDropOptions& options,
                                    std::span<const model::LayerCosine> layers) {
  return methods::drop_most_similar(layers, &model::LayerCosine::block, options.dropped,
                                    model::LayerAction::kSkipBlock);
}

}  // namespace reprise::block_drop
