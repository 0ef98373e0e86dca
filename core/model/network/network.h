// Data that all parts of a forward step share (config, weights, activations), and the operations
// norm and linear.
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

// Activations of a step in the memory of the context's device, sized for the largest step so far.
struct Activations {
  int64_t rows = 0;
  Buffer residual;    // [rows, hidden] f32
  Buffer normed;      // [rows, hidden]  input of attention; later input of the MLP
  Buffer normed_mlp;  // [rows, hidden]  input of the MLP in parallel blocks with two norms
  Buffer qkv;         // [rows, q + 2 kv] f32
  Buffer attended;    // [rows, q]
  Buffer cos, sin;    // [rows, rotated pairs] f32

  void prepare(const ModelConfig& config, DType dtype, int64_t wanted_rows, const Context& context);
  // Appends the addresses of all buffers.
  void append_key(WorkKey& key) const;
};

struct Network {
  ModelConfig config;
  DType dtype = DType::kF32;  // dtype of activations
  DecoderWeights weights;
  Context context;
  Activations buffers;
  kernels::LinearWorkspace linear_workspace;

  [[nodiscard]] const PartSet& layer(int64_t index) const {
    return weights.layers[static_cast<size_t>(index)];
  }
  // Sets out [rows, hidden] to norm(x) with the part's weight and bias. The config says which kind
  // of norm this is.
  void norm(const LoadedPart& part, const float* x, int64_t rows, void* out, DType out_dtype) const;
  // Sets out [rows, outputs] to x W^T + bias, or adds this to out with `accumulate`.
  void linear(const LoadedPart& part, const void* x, int64_t rows, void* out, DType out_dtype,
              bool accumulate = false);
  // linear() for outputs [first, end) only. out is [rows, end - first] f32.
  void linear_rows(const LoadedPart& part, int64_t first, int64_t end, const void* x, int64_t rows,
                   float* out);
  // Moves the given rows (ascending) to the front of a buffer of [rows, cols].
  void move_rows(Buffer& buffer, int64_t cols, DType type, std::span<const int32_t> rows) const;
  // Returns a view of `values` on the CPU. If they are on another device, copies them to `host`,
  // which grows as needed.
  [[nodiscard]] TensorView on_cpu(const TensorView& values, std::vector<std::byte>& host) const;
  // Copies from the context's device to the host and waits for the copy.
  void copy_out(const void* from, void* host, size_t bytes) const;
};

kernels::ActivationKind kernel_of(Activation activation);

// Grows `buffer` to hold [rows, cols] in the memory of the context's device. Growing discards its
// content.
void grow(Buffer& buffer, int64_t rows, int64_t cols, DType dtype, const Context& context);

}  // namespace reprise::model
