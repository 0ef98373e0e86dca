// What the parts of a forward step share: config, weights, activations, and the two operations they
// are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/device/buffer.h"
#include "core/device/context.h"
#include "core/device/tensor.h"
#include "core/kernels/activation/activation.h"
#include "core/kernels/linear/linear.h"
#include "core/model/config/config.h"
#include "core/model/network/decoder_weights.h"

namespace reprise::model {

// Activations of a step, sized for the most rows seen so far, in the memory of the context's
// device.
struct Activations {
  int64_t rows = 0;
  Buffer residual;    // [rows, hidden] f32
  Buffer normed;      // [rows, hidden]  what attention reads; then the MLP
  Buffer normed_mlp;  // [rows, hidden]  what the MLP reads, parallel blocks with two norms
  Buffer qkv;         // [rows, q + 2 kv] f32
  Buffer attended;    // [rows, q]
  Buffer cos, sin;    // [rows, rotated pairs] f32

  void prepare(const ModelConfig& config, DType dtype, int64_t wanted_rows, const Context& context);
  // Where all of them are.
  void append_key(WorkKey& key) const;
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
  void move_rows(Buffer& buffer, int64_t cols, DType type, std::span<const int32_t> rows) const;
  // What the context's device holds, on the CPU: where it is, or copied to `host`, which grows.
  [[nodiscard]] TensorView on_cpu(const TensorView& values, std::vector<std::byte>& host) const;
  // Copies to the host what the context's device holds; waits for it.
  void copy_out(const void* from, void* host, size_t bytes) const;
};

kernels::ActivationKind kernel_of(Activation activation);

// Grows `buffer` to hold [rows, cols] in the memory of the context's device; what it held is lost
// if it grows.
void grow(Buffer& buffer, int64_t rows, int64_t cols, DType dtype, const Context& context);

}  // namespace reprise::model
