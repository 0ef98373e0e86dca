// RMSNorm and LayerNorm: one block per row.
#include "core/kernels/norm/cuda/norm.cuh"

#include <algorithm>
#include <cmath>

#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"
#include "core/kernels/shared/cuda/reduce.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kMostThreads = 512;
constexpr int kMostHeld = 4;  // vectors of columns that a thread holds
constexpr int kColumns = 4;   // columns of a vector

__device__ __forceinline__ float mean_of(const NormCall& call, float sum) {
  return block_sum(sum) / static_cast<float>(call.cols);
}
__device__ __forceinline__ float scale_of(const NormCall& call, float squares) {
  return 1.0f / sqrtf(block_sum(squares) / static_cast<float>(call.cols) + call.epsilon);
}
__device__ __forceinline__ float normalised(const NormCall& call, int64_t column, float centred,
                                            float scale, float weight) {
  const float y = centred * scale * weight;
  return call.bias != nullptr ? y + call.bias[column] : y;
}

// Grid: rows. Block: up to 512 threads; thread t owns columns t, t + threads, ... Shared memory:
// 128 bytes. A block reads 4 * cols bytes from memory and writes cols elements; memory bandwidth is
// the limit. LayerNorm reads the row three times and RMSNorm twice; after the first time the row is
// in L1 (32 KiB for 8192 columns).
template <typename Out>
__global__ void __launch_bounds__(kMostThreads) norm_rows(const NormCall call) {
  let_next_kernel_begin();
  await_previous_kernels();
  const float* x = call.x + blockIdx.x * call.cols;
  Out* out = static_cast<Out*>(call.out) + blockIdx.x * call.cols;
  const int64_t first = threadIdx.x, step = blockDim.x;
  float mean = 0.0f;
  if (!call.is_rms) {
    float sum = 0.0f;
    for (int64_t i = first; i < call.cols; i += step) sum += x[i];
    mean = mean_of(call, sum);
  }
  float squares = 0.0f;
  for (int64_t i = first; i < call.cols; i += step) squares += (x[i] - mean) * (x[i] - mean);
  const float scale = scale_of(call, squares);
  for (int64_t i = first; i < call.cols; i += step)
    out[i] = rounded_to<Out>(normalised(call, i, x[i] - mean, scale, call.weight[i]));
}

// Normalises rows that fit into a block's registers. Thread t has kHeld vectors of columns: t, t +
// threads, ... It loads all of them before it computes, and their weights even before the previous
// kernels have ended.
template <typename Out, int kHeld>
__global__ void __launch_bounds__(kMostThreads) norm_held_rows(const NormCall call) {
  using Vector = Elements<float, kColumns>;
  let_next_kernel_begin();
  const float* x = call.x + blockIdx.x * call.cols;
  Out* out = static_cast<Out*>(call.out) + blockIdx.x * call.cols;
  const auto column_of = [&](int held) {
    return static_cast<int64_t>(threadIdx.x + static_cast<unsigned>(held) * blockDim.x) * kColumns;
  };
  Vector xs[kHeld], weights[kHeld];
  REPRISE_UNROLL
  for (int held = 0; held < kHeld; ++held) {
    const int64_t column = column_of(held);
    if (column < call.cols) weights[held] = load_elements<kColumns>(call.weight + column);
  }
  await_previous_kernels();
  REPRISE_UNROLL
  for (int held = 0; held < kHeld; ++held) {
    const int64_t column = column_of(held);
    if (column < call.cols) xs[held] = load_elements<kColumns>(x + column);
  }
  const auto sum_over = [&](auto&& term) {
    float sum = 0.0f;
    REPRISE_UNROLL
    for (int held = 0; held < kHeld; ++held) {
      if (column_of(held) >= call.cols) continue;
      REPRISE_UNROLL
      for (int i = 0; i < kColumns; ++i) sum += term(xs[held].of[i]);
    }
    return sum;
  };
  const float mean =
      call.is_rms ? 0.0f : mean_of(call, sum_over([](float value) { return value; }));
  const float scale =
      scale_of(call, sum_over([&](float value) { return (value - mean) * (value - mean); }));
  REPRISE_UNROLL
  for (int held = 0; held < kHeld; ++held) {
    const int64_t column = column_of(held);
    if (column >= call.cols) continue;
    Elements<Out, kColumns> ys;
    REPRISE_UNROLL
    for (int i = 0; i < kColumns; ++i)
      ys.of[i] = rounded_to<Out>(
          normalised(call, column + i, xs[held].of[i] - mean, scale, weights[held].of[i]));
    store_elements(out + column, ys);
  }
}

// Returns the block size for rows of `items` items: whole warps, up to kMostThreads threads.
dim3 block_for(int64_t items) {
  return dim3(blocks_for(std::min<int64_t>(items, kMostThreads), kWarp) * kWarp);
}

}  // namespace

void norm(const NormCall& call, cudaStream_t stream) {
  if (call.cols == 0) return;
  const int64_t vectors = call.cols / kColumns, held = (vectors + kMostThreads - 1) / kMostThreads;
  const bool is_held =
      held <= kMostHeld && allows_elements(kColumns, {call.x, call.out, call.weight}, {call.cols});
  const LaunchShape shape{.name = "norm",
                          .grid = dim3(static_cast<unsigned>(call.rows)),
                          .block = block_for(is_held ? (vectors + held - 1) / held : call.cols),
                          .begins_early = true};
  visit_device_dtype(call.out_dtype, [&](auto zero) {
    using Out = decltype(zero);
    launch(shape, stream,
           !is_held    ? norm_rows<Out>
           : held == 1 ? norm_held_rows<Out, 1>
           : held == 2 ? norm_held_rows<Out, 2>
                       : norm_held_rows<Out, kMostHeld>,
           call);
  });
}

}  // namespace reprise::kernels::cuda
