// Layer policies that follow a fixed rule: layers that share a map with one before them, layers
// that are left out. What the rule is comes from outside: a method, or its calibration.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/network/layer_policy.h"

namespace reprise::model {

// The first layer of each block of layers computes its map, the others of the block use it.
// [LazyFormer §3; SAN §3.1]
class MapSharing final : public LayerPolicy {
 public:
  // Of a model of `layers`; `first_layers` of the blocks ascend from 0. Throws Error where they do
  // not, or go beyond the model.
  MapSharing(std::vector<int64_t> first_layers, int64_t layers);

  // A layer whose block's first layer did something else (overruled) takes its place: it computes,
  // and those behind it share with it.
  LayerChoice choose(LayerInput& input) override;
  void overruled(int64_t layer) override;

 private:
  [[nodiscard]] bool begins_block(int64_t layer) const;
  // Whether the layer behind is of the same block.
  [[nodiscard]] bool has_followers(int64_t layer) const;

  std::vector<int64_t> first_layers_;
  int64_t layers_;
  int64_t source_ = -1;  // layer of this block and step that keeps its map; -1: none
};

// Some layers do without their attention, or without all of their block.
class LayerSkipping final : public LayerPolicy {
 public:
  // kSkipAttention or kSkipBlock (CHECK). Throws Error for a layer beyond the model's `layers`.
  LayerSkipping(const std::vector<int64_t>& skipped, int64_t layers, LayerAction action);

  LayerChoice choose(LayerInput& input) override;

 private:
  std::vector<bool> is_skipped_;  // by layer
  LayerAction action_;
};

}  // namespace reprise::model
