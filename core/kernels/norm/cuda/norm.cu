// RMSNorm and LayerNorm: one block per row.
#include "core/kernels/norm/cuda/norm.cuh"

#include <algorithm>
#include <cmath>

#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/reduce.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kMostThreads = 256;

// Grid: rows. Block: up to 256 threads; thread t owns columns t, t + threads, ... Shared memory:
// 128 bytes. Reads 4 cols bytes from memory and writes cols elements; memory bandwidth is the
// limit. The second and third reads of a row hit L1 (32 KiB for 8192 columns).
template <typename Out>
__global__ void __launch_bounds__(kMostThreads) norm_rows(const NormCall call) {
  const float* x = call.x + blockIdx.x * call.cols;
  Out* out = static_cast<Out*>(call.out) + blockIdx.x * call.cols;
  const int64_t first = threadIdx.x, step = blockDim.x;
  const float count = static_cast<float>(call.cols);
  float mean = 0.0f;
  if (!call.is_rms) {
    float sum = 0.0f;
    for (int64_t i = first; i < call.cols; i += step) sum += x[i];
    mean = block_sum(sum) / count;
  }
  float squares = 0.0f;
  for (int64_t i = first; i < call.cols; i += step) squares += (x[i] - mean) * (x[i] - mean);
  const float scale = 1.0f / sqrtf(block_sum(squares) / count + call.epsilon);
  for (int64_t i = first; i < call.cols; i += step) {
    float y = (x[i] - mean) * scale * call.weight[i];
    if (call.bias != nullptr) y += call.bias[i];
    out[i] = rounded_to<Out>(y);
  }
}

}  // namespace

void norm(const NormCall& call, cudaStream_t stream) {
  if (call.cols == 0) return;
  const int64_t warps = std::min<int64_t>((call.cols + kWarp - 1) / kWarp, kMostThreads / kWarp);
  const LaunchShape shape{.name = "norm",
                          .grid = dim3(static_cast<unsigned>(call.rows)),
                          .block = dim3(static_cast<unsigned>(warps * kWarp))};
  visit_device_dtype(call.out_dtype,
                     [&](auto zero) { launch(shape, stream, norm_rows<decltype(zero)>, call); });
}

}  // namespace reprise::kernels::cuda
