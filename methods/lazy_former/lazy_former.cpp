#include "methods/lazy_former/lazy_former.h"

#include <vector>

#include "core/base/error.h"
#include "methods/layer_policies/layer_rules.h"

namespace reprise::lazy_former {

std::unique_ptr<model::LayerPolicy> make_lazy_former(const LazyFormerOptions& options,
                                                     int64_t layers) {
  if (options.block_layers < 1)
    raise("LazyFormer with blocks of {} layers: give 1 or more", options.block_layers);
  std::vector<int64_t> first_layers;
  for (int64_t layer = 0; layer < layers; layer += options.block_layers)
    first_layers.push_back(layer);
  return std::make_unique<model::MapSharing>(std::move(first_layers), layers);
}

}  // namespace reprise::lazy_former
