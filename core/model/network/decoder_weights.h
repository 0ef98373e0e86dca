// The weights of a decoder in the form the kernels read.
#pragma once

#include <cstdint>
#include <vector>

#include "core/device/tensor.h"
#include "core/kernels/packed_matrix.h"
#include "core/model/checkpoint/weights.h"

namespace reprise::model {

struct LayerWeights {
  std::vector<float> norm_1, norm_1_bias, norm_2, norm_2_bias;
  kernels::PackedMatrix qkv, attention_out, up, down;
  std::vector<float> qkv_bias, attention_out_bias, up_bias, down_bias;  // empty: none
};

struct DecoderWeights {
  Tensor embedding;  // [vocab, hidden]; empty where tied: then rows of `head` serve
  std::vector<LayerWeights> layers;
  std::vector<float> final_norm, final_norm_bias;
  kernels::PackedMatrix head;
  std::vector<float> head_bias;

  [[nodiscard]] int64_t bytes() const;
};

// Reads and packs every tensor, one after the other, so that peak memory stays near the packed
// size. Throws Error with need and have when the weights will not fit.
DecoderWeights load_weights(const ModelConfig& config, const WeightSource& source, DType dtype,
                            const Context& context);

}  // namespace reprise::model
