// Relative positions in a model's attention: the vectors of its layers, and the scores they make.
#pragma once

#include <cstdint>
#include <vector>

#include "core/device/buffer.h"
#include "core/kernels/disentangled/disentangled.h"
#include "core/model/network/layer_policy.h"
#include "core/model/network/network.h"

namespace reprise::model {

// Every layer projects the same table by its own matrices; that depends on weights alone, so it is
// done once, here: 2 * span * hidden numbers in f32 for each layer and term. As a ScoreBias it
// serves steps whose maps are looked at.
class Disentangled final : public ScoreBias {
 public:
  // A model with relative.span > 0.
  explicit Disentangled(Network& network);

  // Before the first layer of a step, each of whose rows must see its whole text and nothing else
  // (CHECK).
  void begin(const StepInput& step);
  // out [rows, heads * head_dim] = the layer's attention.
  void attend(int64_t layer, const Qkv& qkv, const kernels::OutputView& out);
  void fill(int64_t layer, const StepInput& step, const Qkv& qkv, std::span<float> biases) override;

 private:
  struct LayerVectors {
    AlignedBuffer keys, queries;  // [heads, head_dim, stride], see kernels::PositionVectors
  };

  void project(const void* table, const PartSet& layer, LayerVectors& vectors);
  AlignedBuffer turned(const LoadedPart& part, int64_t first_row, const void* table);
  [[nodiscard]] kernels::DisentangledCall call(int64_t layer, const Qkv& qkv) const;

  Network& network_;
  std::vector<LayerVectors> layers_;
  std::vector<kernels::TextRows> texts_;  // of the step
  std::vector<int32_t> buckets_;          // of distances up to the longest text so far
  kernels::DisentangledWorkspace workspace_;
};

}  // namespace reprise::model
