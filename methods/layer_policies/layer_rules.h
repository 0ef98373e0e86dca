// Layer policies with a fixed rule: some layers use the attention map of an earlier layer, or some
// layers are skipped. A method or its calibration provides the rule.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/network/layer_policy.h"

namespace reprise::model {

// The first layer of each group of layers computes its map, and the other layers of the group use
// it. [LazyFormer §3; SAN §3.1]
class MapSharing final : public LayerPolicy {
 public:
  // `first_layers`: the first layer of each group, ascending from 0, in a model of `layers` layers.
  // Throws Error if they do not ascend from 0 or exceed the model.
  MapSharing(std::vector<int64_t> first_layers, int64_t layers);

  // If overruled() says that another policy decided the first layer of a group, the group's next
  // layer takes that layer's place: it computes its map, and the layers after it use this map.
  LayerChoice choose(LayerInput& input) override;
  void overruled(int64_t layer) override;

 private:
  [[nodiscard]] bool begins_block(int64_t layer) const;
  // True if the next layer is in the same group.
  [[nodiscard]] bool has_followers(int64_t layer) const;

  std::vector<int64_t> first_layers_;
  int64_t layers_;
  int64_t source_ = -1;  // layer that keeps its map in the current group and step; -1: none
};

// Skips the attention, or the whole block, of some layers.
class LayerSkipping final : public LayerPolicy {
 public:
  // `action` is kSkipAttention or kSkipBlock (CHECK). Throws Error for a layer that is not in [0,
  // layers).
  LayerSkipping(const std::vector<int64_t>& skipped, int64_t layers, LayerAction action);

  LayerChoice choose(LayerInput& input) override;

 private:
  std::vector<bool> is_skipped_;  // by layer
  LayerAction action_;
};

}  // namespace reprise::model
