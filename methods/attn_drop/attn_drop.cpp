#include "methods/attn_drop/attn_drop.h"

namespace reprise::attn_drop {

methods::MadePolicy make_attn_drop(const AttnDropOptions& options,
                                   std::span<const model::LayerCosine> layers) {
  return methods::drop_most_similar(layers, &model::LayerCosine::attention, options.dropped,
                                    model::LayerAction::kSkipAttention);
}

}  // namespace reprise::attn_drop
