// What the parts of a forward step share: config, weights, activations, and the two operations they
// are made of.
#pragma once

#include <cstdint>

#include "core/device/buffer.h"
#include "core/device/context.h"
#include "core/kernels/activation.h"
#include "core/kernels/linear.h"
#include "core/model/config/config.h"
#include "core/model/network/decoder_weights.h"

namespace reprise::model {

// Activations of a step, sized for the most rows seen so far.
struct Activations {
  int64_t rows = 0;
  AlignedBuffer residual;    // [rows, hidden] f32
  AlignedBuffer normed;      // [rows, hidden]  what attention reads; then the MLP
  AlignedBuffer normed_mlp;  // [rows, hidden]  what the MLP reads, parallel blocks with two norms
  AlignedBuffer qkv;         // [rows, q + 2 kv] f32
  AlignedBuffer attended;    // [rows, q]
  AlignedBuffer cos, sin;    // [rows, rotated pairs] f32

  void prepare(const ModelConfig& config, DType dtype, int64_t wanted_rows);
};

struct Network {
  ModelConfig config;
  DType dtype = DType::kF32;  // of activations
  DecoderWeights weights;
  Context context;
  Activations buffers;
  kernels::LinearWorkspace linear_workspace;

  [[nodiscard]] const PartSet& layer(int64_t index) const {
    return weights.layers[static_cast<size_t>(index)];
  }
  // out [rows, hidden] = the config's norm of x with a part's weight and bias.
  void norm(const LoadedPart& part, const float* x, int64_t rows, void* out, DType out_dtype) const;
  // out [rows, outputs] = x W^T + bias, or out += with `accumulate`.
  void linear(const LoadedPart& part, const void* x, int64_t rows, void* out, DType out_dtype,
              bool accumulate = false);
  // The same with outputs [first, end) alone: out [rows, end - first] f32.
  void linear_rows(const LoadedPart& part, int64_t first, int64_t end, const void* x, int64_t rows,
                   float* out);
  // Moves the given rows, which ascend, to the front of a buffer of [rows, cols].
  void move_rows(AlignedBuffer& buffer, int64_t cols, DType type,
                 std::span<const int32_t> rows) const;
};

kernels::ActivationKind kernel_of(Activation activation);

// Grows `buffer` to hold [rows, cols]; what it held is lost if it grows.
void grow(AlignedBuffer& buffer, int64_t rows, int64_t cols, DType dtype);

}  // namespace reprise::model
