#include "core/model/network/feed_forward.h"

#include "core/kernels/activation.h"

namespace reprise::model {
namespace {

kernels::ActivationKind kind_of(Activation activation) {
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

}  // namespace

void FeedForward::prepare(int64_t rows, int64_t width) {
  grow(up_, rows, width * (network_.config.gated_mlp ? 2 : 1), network_.dtype, network_.context);
  grow(activated_, rows, width, network_.dtype, network_.context);
}

void FeedForward::run(const LoadedPart& up, const LoadedPart& down, const void* x, int64_t rows,
                      float* out, bool accumulate) {
  const ModelConfig& config = network_.config;
  network_.linear(up, x, rows, up_.data(), network_.dtype);
  kernels::ActivationCall{.kind = kind_of(config.activation),
                          .is_gated = config.gated_mlp,
                          .x = up_.data(),
                          .out = activated_.data(),
                          .dtype = network_.dtype,
                          .rows = rows,
                          .cols = down.matrix.cols()}
      .run(network_.context);
  network_.linear(down, activated_.data(), rows, out, DType::kF32, accumulate);
}

}  // namespace reprise::model
