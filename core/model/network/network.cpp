#include "core/model/network/network.h"

#include <cstring>

#include "core/kernels/norm/norm.h"
#include "core/kernels/rows/gather_rows.h"

namespace reprise::model {
namespace {

const float* or_null(const Tensor& values) { return values.empty() ? nullptr : values.as<float>(); }

}  // namespace

kernels::ActivationKind kernel_of(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return kernels::ActivationKind::kSilu;
    case Activation::kGelu:
      return kernels::ActivationKind::kGelu;
    case Activation::kGeluTanh:
      return kernels::ActivationKind::kGeluTanh;
  }
  return kernels::ActivationKind::kSilu;
}

void Activations::prepare(const ModelConfig& config, DType dtype, int64_t wanted_rows,
                          const Context& context) {
  if (wanted_rows <= rows) return;
  rows = 0;  // set again when all buffers exist, since an allocation may throw
  const auto make = [&](Buffer& buffer, int64_t cols, DType type) {
    buffer = Buffer(context.runtime, static_cast<size_t>(wanted_rows * cols) * size_of(type));
  };
  make(residual, config.hidden, DType::kF32);
  make(normed, config.hidden, dtype);
  if (config.block == BlockStyle::kParallelTwoNorms) make(normed_mlp, config.hidden, dtype);
  make(qkv, config.q_dim() + 2 * config.kv_dim(), DType::kF32);
  make(attended, config.q_dim(), dtype);
  if (config.position == PositionScheme::kRotary) {
    make(cos, config.rotary.dims / 2, DType::kF32);
    make(sin, config.rotary.dims / 2, DType::kF32);
  }
  rows = wanted_rows;
}

void Activations::append_key(WorkKey& key) const {
  for (const Buffer* buffer : {&residual, &normed, &normed_mlp, &qkv, &attended, &cos, &sin})
    append_address(key, buffer->data());
}

void Network::norm(const LoadedPart& part, const float* x, int64_t rows, void* out,
                   DType out_dtype) const {
  kernels::NormCall{.is_rms = config.norm == Norm::kRms,
                    .epsilon = static_cast<float>(config.norm_epsilon),
                    .weight = part.values.as<float>(),
                    .bias = or_null(part.bias),
                    .x = x,
                    .out = out,
                    .out_dtype = out_dtype,
                    .rows = rows,
                    .cols = config.hidden}
      .run(context);
}

void Network::linear(const LoadedPart& part, const void* x, int64_t rows, void* out,
                     DType out_dtype, bool accumulate) {
  kernels::LinearCall{.x = x,
                      .m = rows,
                      .bias = or_null(part.bias),
                      .out = out,
                      .out_dtype = out_dtype,
                      .accumulate = accumulate}
      .run(part.matrix, linear_workspace, context);
}

void Network::linear_rows(const LoadedPart& part, int64_t first, int64_t end, const void* x,
                          int64_t rows, float* out) {
  kernels::LinearCall{.x = x,
                      .m = rows,
                      .bias = part.bias.empty() ? nullptr : part.bias.as<float>() + first,
                      .out = out}
      .run(part.matrix.rows(first, end), linear_workspace, context);
}

void Network::move_rows(Buffer& buffer, int64_t cols, DType type,
                        std::span<const int32_t> rows) const {
  kernels::GatherRowsCall{.in = buffer.data(),
                          .out = buffer.data(),
                          .row_bytes = cols * static_cast<int64_t>(size_of(type)),
                          .rows = rows}
      .run(context);
}

TensorView Network::on_cpu(const TensorView& values, std::vector<std::byte>& host) const {
  if (values.device == Device::kCpu) return values;
  host.resize(values.bytes());
  copy_out(values.data, host.data(), host.size());
  return {host.data(), values.dtype, values.shape, Device::kCpu};
}

void Network::copy_out(const void* from, void* host, size_t bytes) const {
  if (context.runtime != nullptr) return context.runtime->copy_out(host, from, bytes);
  std::memcpy(host, from, bytes);
}

void grow(Buffer& buffer, int64_t rows, int64_t cols, DType dtype, const Context& context) {
  const size_t bytes = static_cast<size_t>(rows * cols) * size_of(dtype);
  if (buffer.bytes() < bytes) buffer = Buffer(context.runtime, bytes);
}

}  // namespace reprise::model
