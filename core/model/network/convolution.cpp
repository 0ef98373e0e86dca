// Computes the convolution as a linear layer. Each input row of this layer contains the input of a
// token and the inputs of the tokens around it.
#include "core/model/network/convolution.h"

#include <iterator>

#include "core/kernels/activation/activation.h"
#include "core/kernels/shared/for_rows.h"

namespace reprise::model {
namespace {

template <typename T>
void spread_text(const T* x, int64_t tokens, int64_t hidden, int64_t kernel, T* taps) {
  for (int64_t token = 0; token < tokens; ++token)
    for (int64_t tap = 0; tap < kernel; ++tap) {
      const int64_t from = token + tap - kernel / 2;
      const bool is_inside = from >= 0 && from < tokens;
      T* to = taps + token * hidden * kernel + tap;
      for (int64_t c = 0; c < hidden; ++c) to[c * kernel] = is_inside ? x[from * hidden + c] : T{};
    }
}

template <typename T>
void spread(const Network& network, const StepInput& step, Buffer& taps) {
  const int64_t hidden = network.config.hidden, kernel = network.config.convolution.kernel;
  const auto& texts = step.plan.items;
  parallel_for(network.context, std::ssize(texts), [&](int64_t index, int) {
    const kv::WorkItem& text = texts[static_cast<size_t>(index)];
    spread_text(network.buffers.normed.as<T>() + text.first_row * hidden,
                text.end_row - text.first_row, hidden, kernel,
                taps.as<T>() + text.first_row * hidden * kernel);
  });
}

}  // namespace

void Convolution::begin(const StepInput& step) {
  const int64_t cols = network_.config.hidden * network_.config.convolution.kernel;
  require_device(network_.context.device, "a convolution");
  grow(taps_, step.plan.rows(), cols, network_.dtype, network_.context);
  visit_dtype(network_.dtype, [&](auto zero) { spread<decltype(zero)>(network_, step, taps_); });
}

void Convolution::add(int64_t rows) {
  const int64_t hidden = network_.config.hidden;
  grow(sums_, rows, hidden, DType::kF32, network_.context);
  network_.linear(network_.weights.model[Part::kConvolution], taps_.data(), rows, sums_.data(),
                  DType::kF32);
  kernels::ActivationCall{.kind = kernel_of(network_.config.convolution.activation),
                          .x = sums_.data(),
                          .out = sums_.data(),
                          .rows = rows,
                          .cols = hidden}
      .run(network_.context);
  auto* residual = network_.buffers.residual.as<float>();
  const auto* sums = sums_.as<float>();
  kernels::for_rows(network_.context, rows, hidden * int64_t{sizeof(float)}, [&](int64_t row) {
    for (int64_t c = row * hidden; c < (row + 1) * hidden; ++c) residual[c] += sums[c];
  });
  const LoadedPart& norm = network_.weights.model[Part::kConvolutionNorm];
  network_.norm(norm, residual, rows, network_.buffers.normed.data(), network_.dtype);
  network_.norm(norm, residual, rows, residual, DType::kF32);
}

}  // namespace reprise::model
