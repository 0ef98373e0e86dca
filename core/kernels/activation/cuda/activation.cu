// SiLU and GELU, plain or gated: one thread for each 16 bytes of a row, or for each element.
#include "core/kernels/activation/cuda/activation.cuh"

#include <cmath>

#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// 1 / (1 + e^-x), by e^-|x|, which never overflows.
__device__ __forceinline__ float sigmoid(float x) {
  constexpr float kLog2E = 1.44269504088896f;
  const float e = exp2_approx(-fabsf(x) * kLog2E);
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

template <ActivationKind kKind>
__device__ __forceinline__ float activate(float x) {
  if constexpr (kKind == ActivationKind::kSilu) {
    return x * sigmoid(x);
  } else if constexpr (kKind == ActivationKind::kGelu) {
    // by erfc, because 1 + erf cancels for negative x
    return 0.5f * x * erfcf(-0.70710678118f * x);
  } else {
    // (1 + tanh u) / 2 = sigmoid(2 u)
    return x * sigmoid(1.59576912161f * fmaf(x * x * x, 0.044715f, x));
  }
}

// Grid: grid_of_rows() of cols / kCount vectors. Reads each input once (two if gated) and writes
// each output once: memory bandwidth is the limit. If `out` is the input, a thread overwrites only
// what it has read itself.
template <ActivationKind kKind, typename T, int kCount>
__global__ void __launch_bounds__(kThreads) activate_elements(const ActivationCall call) {
  let_next_kernel_begin();
  await_previous_kernels();
  const int64_t col = item_index() * kCount;
  if (col >= call.cols) return;
  for (int64_t row = blockIdx.y; row < call.rows; row += gridDim.y) {
    const T* x = static_cast<const T*>(call.x) + row * call.cols * (call.is_gated ? 2 : 1) + col;
    const auto first = load_elements<kCount>(x);
    auto second = first;
    if (call.is_gated) second = load_elements<kCount>(x + call.cols);
    Elements<T, kCount> out;
    REPRISE_UNROLL
    for (int i = 0; i < kCount; ++i) {
      float y = activate<kKind>(static_cast<float>(first.of[i]));
      if (call.is_gated) y *= static_cast<float>(second.of[i]);
      out.of[i] = rounded_to<T>(y);
    }
    store_elements(static_cast<T*>(call.out) + row * call.cols + col, out);
  }
}

template <ActivationKind kKind>
void run(const ActivationCall& call, cudaStream_t stream) {
  visit_device_dtype(call.dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kMost = 16 / sizeof(T);
    const bool has_vectors = allows_elements(kMost, {call.x, call.out}, {call.cols});
    const LaunchShape shape{
        .name = "activation",
        .grid = grid_of_rows(call.rows, has_vectors ? call.cols / kMost : call.cols, kThreads),
        .block = dim3(kThreads),
        .begins_early = true};
    launch(shape, stream,
           has_vectors ? activate_elements<kKind, T, kMost> : activate_elements<kKind, T, 1>, call);
  });
}

}  // namespace

void activation(const ActivationCall& call, cudaStream_t stream) {
  switch (call.kind) {
    case ActivationKind::kSilu:
      return run<ActivationKind::kSilu>(call, stream);
    case ActivationKind::kGelu:
      return run<ActivationKind::kGelu>(call, stream);
    case ActivationKind::kGeluTanh:
      return run<ActivationKind::kGeluTanh>(call, stream);
  }
}

}  // namespace reprise::kernels::cuda
