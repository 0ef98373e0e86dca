// Merges partial results: one warp per (row, head).
#include "core/kernels/attention/cuda/merge.cuh"

#include <cmath>

#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr float kLog2E = 1.44269504088896f;
constexpr float kMinusInfinity = -INFINITY;

// The parts of one row, for one head.
struct Parts {
  const MergeCall& call;
  int32_t begin, end;
  int64_t head;

  __device__ int64_t entry(int32_t i) const { return call.entries[i] + head; }
  // The largest m, or 0 if no part saw a key, so that exp(-inf - 0) is 0.
  __device__ float largest() const {
    float m = kMinusInfinity;
    for (int32_t i = begin; i < end; ++i) m = fmaxf(m, call.m[entry(i)]);
    return m > kMinusInfinity ? m : 0.0f;
  }
  __device__ float weight(int32_t i, float m) const {
    return exp2_approx((call.m[entry(i)] - m) * kLog2E);
  }
};

// Grid: merged * heads (row, head), 4 warps a block for 4 of them. Lane l owns dimensions l, l +
// 32, ...; every lane computes the weights itself, from loads that the warp shares. Reads parts *
// (head_dim + 2) floats from memory or L2, where they were just written, and writes head_dim
// elements: bandwidth is the limit.
template <typename Out>
__global__ void __launch_bounds__(kThreads) merge_rows(const MergeCall call) {
  const int64_t index = item_index() / kWarp;
  if (index >= call.merged * call.heads) return;
  const int64_t merged = index / call.heads, head = index % call.heads;
  if (call.rows[merged] < 0) return;
  const Parts parts{call, call.begin[merged], call.begin[merged + 1], head};
  const float m = parts.largest();
  float n = 0.0f;
  for (int32_t i = parts.begin; i < parts.end; ++i)
    n += parts.weight(i, m) * call.n[parts.entry(i)];
  const float inverse = n == 0.0f ? 0.0f : 1.0f / n;  // NaN stays NaN
  Out* out = static_cast<Out*>(call.out) +
             (static_cast<int64_t>(call.rows[merged]) * call.heads + head) * call.head_dim;
  for (int64_t c = threadIdx.x % kWarp; c < call.head_dim; c += kWarp) {
    float sum = 0.0f;
    for (int32_t i = parts.begin; i < parts.end; ++i) {
      const float weight = parts.weight(i, m);
      if (weight != 0.0f) sum += weight * call.o[parts.entry(i) * call.head_dim + c];
    }
    out[c] = rounded_to<Out>(sum * inverse);
  }
}

}  // namespace

void merge_partials(const MergeCall& call, cudaStream_t stream) {
  const LaunchShape shape{.name = "merge_partials",
                          .grid = dim3(blocks_for(call.merged * call.heads * kWarp, kThreads)),
                          .block = dim3(kThreads)};
  visit_device_dtype(call.out_dtype,
                     [&](auto zero) { launch(shape, stream, merge_rows<decltype(zero)>, call); });
}

}  // namespace reprise::kernels::cuda
