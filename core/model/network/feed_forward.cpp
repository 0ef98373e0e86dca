#include "core/model/network/feed_forward.h"

namespace reprise::model {

void FeedForward::prepare(int64_t rows, int64_t width) {
  grow(up_, rows, width * (network_.config.gated_mlp ? 2 : 1), network_.dtype, network_.context);
  grow(activated_, rows, width, network_.dtype, network_.context);
}

void FeedForward::run(const LoadedPart& up, const LoadedPart& down, const void* x, int64_t rows,
                      float* out, bool accumulate) {
  const ModelConfig& config = network_.config;
  network_.linear(up, x, rows, up_.data(), network_.dtype);
  kernels::ActivationCall{.kind = kernel_of(config.activation),
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
