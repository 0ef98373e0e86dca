#include "methods/layer_policies/layer_rules.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace reprise::model {

MapSharing::MapSharing(std::vector<int64_t> first_layers, int64_t layers)
    : first_layers_(std::move(first_layers)), layers_(layers) {
  if (first_layers_.empty() || first_layers_.front() != 0 || first_layers_.back() >= layers)
    raise("blocks of layers that share a map begin at layer 0 and end within the model's {} layers",
          layers);
  for (size_t i = 1; i < first_layers_.size(); ++i)
    if (first_layers_[i] <= first_layers_[i - 1])
      raise("blocks of layers that share a map ascend: layer {} follows layer {}", first_layers_[i],
            first_layers_[i - 1]);
}

LayerChoice MapSharing::choose(LayerInput& input) {
  const int64_t layer = input.layer();
  if (begins_block(layer)) source_ = -1;
  if (source_ >= 0) return {.action = LayerAction::kShareMap};
  const bool keeps = has_followers(layer);  // without followers the map is not needed
  if (keeps) source_ = layer;
  return {.keep_map = keeps};
}

void MapSharing::overruled(int64_t layer) {
  if (layer == source_ || begins_block(layer)) source_ = -1;
}

bool MapSharing::begins_block(int64_t layer) const {
  return std::binary_search(first_layers_.begin(), first_layers_.end(), layer);
}

bool MapSharing::has_followers(int64_t layer) const {
  return layer + 1 < layers_ && !begins_block(layer + 1);
}

LayerSkipping::LayerSkipping(const std::vector<int64_t>& skipped, int64_t layers,
                             LayerAction action)
    : is_skipped_(static_cast<size_t>(layers), false), action_(action) {
  REPRISE_CHECK(action == LayerAction::kSkipAttention || action == LayerAction::kSkipBlock);
  for (const int64_t layer : skipped) {
    if (layer < 0 || layer >= layers)
      raise("layer {} cannot be left out of a model of {} layers", layer, layers);
    is_skipped_[static_cast<size_t>(layer)] = true;
  }
}

LayerChoice LayerSkipping::choose(LayerInput& input) {
  const bool skips = is_skipped_.at(static_cast<size_t>(input.layer()));
  return {.action = skips ? action_ : LayerAction::kCompute};
}

}  // namespace reprise::model
