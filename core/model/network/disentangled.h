// Attention with relative positions: the position vectors of all layers, and the scores that they
// add.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/device/buffer.h"
#include "core/kernels/disentangled/disentangled.h"
#include "core/model/network/network.h"
#include "core/model/network/step.h"

namespace reprise::model {

// The position vectors of a layer are products of its matrices with the table. They depend on
// weights only, so the constructor computes them: 2 * span * hidden f32 numbers for each layer and
// term. Steps whose maps are kept or shown call fill(); other steps call attend().
class Disentangled {
 public:
  // Queries, keys and values of the step's rows, after clipping and rotation. In each of them, the
  // heads of a row follow one another.
  struct Qkv {
    const float* q = nullptr;
    const float* k = nullptr;
    const float* v = nullptr;
    int64_t row_stride = 0;
  };
  // Requires a model with relative.span > 0.
  explicit Disentangled(Network& network);

  // Called before the first layer of a step. Each row of the step must see its whole text and
  // nothing else (CHECK).
  void begin(const StepInput& step);
  // Sets out [rows, heads * head_dim] to the layer's attention.
  void attend(int64_t layer, const Qkv& qkv, const kernels::OutputView& out);
  // Writes biases [heads, rows, keys] f32, which are added to the scaled scores. There are
  // most_keys(step.plan) keys, numbered as in kernels::attention_map().
  void fill(int64_t layer, const StepInput& step, const Qkv& qkv, std::span<float> biases);

 private:
  struct LayerVectors {
    AlignedBuffer keys, queries;  // [heads, head_dim, stride], see kernels::PositionVectors
  };

  void project(const void* table, const PartSet& layer, LayerVectors& vectors);
  AlignedBuffer turned(const LoadedPart& part, int64_t first_row, const void* table);
  [[nodiscard]] kernels::DisentangledCall call(int64_t layer, const Qkv& qkv) const;

  Network& network_;
  std::vector<LayerVectors> layers_;
  std::vector<kernels::TextRows> texts_;  // the texts of the step
  std::vector<int32_t> buckets_;          // bucket of each distance, up to the longest text so far
  kernels::DisentangledWorkspace workspace_;
};

}  // namespace reprise::model
