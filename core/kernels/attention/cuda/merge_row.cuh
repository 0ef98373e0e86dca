// Merges the partial results of one row and head by a warp, for merge_partials() and for the
// attention kernel, so that the results of both have the same bits.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/kernels/attention/cuda/merge.cuh"
#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"
#include "core/kernels/shared/cuda/reduce.cuh"

namespace reprise::kernels::cuda {

// kColumns neighbouring columns of a lane.
template <int kColumns>
struct Columns;
template <>
struct Columns<1> {
  using Loaded = float;
  __device__ static void add(float (&sums)[1], float weight, float o) { sums[0] += weight * o; }
};
template <>
struct Columns<4> {
  using Loaded = float4;
  __device__ static void add(float (&sums)[4], float weight, const float4& o) {
    sums[0] += weight * o.x;
    sums[1] += weight * o.y;
    sums[2] += weight * o.z;
    sums[3] += weight * o.w;
  }
};

// The part that a lane of the warp weighs: the entry of its results, and its weight.
struct LanePart {
  int64_t entry = 0;
  float weight = 0.0f;
};

// Adds the parts of a warp's lanes to the sums of kColumns columns from `column` on. Only the first
// `count` lanes have a part. Loads kAtOnce parts at a time.
template <int kColumns>
__device__ __forceinline__ void add_parts(const MergeCall& call, const LanePart& part, int count,
                                          int64_t column, float (&sums)[kColumns]) {
  using Loaded = typename Columns<kColumns>::Loaded;
  constexpr int kAtOnce = 8;
  static_assert(kWarp % kAtOnce == 0);
  for (int first = 0; first < count; first += kAtOnce) {
    float weights[kAtOnce];
    Loaded o[kAtOnce];
    REPRISE_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      weights[i] = __shfl_sync(kAllLanes, part.weight, first + i);
      const int64_t entry = __shfl_sync(kAllLanes, part.entry, first + i);
      o[i] = Loaded{};
      if (weights[i] != 0.0f && column < call.head_dim)
        o[i] = *reinterpret_cast<const Loaded*>(call.o + entry * call.head_dim + column);
    }
    REPRISE_UNROLL
    for (int i = 0; i < kAtOnce; ++i) Columns<kColumns>::add(sums, weights[i], o[i]);
  }
}

// Merges parts [begin, end) of call.entries for one row and head. All lanes of the warp call it. A
// lane computes the weights of every 32nd part, and calls store(column, values) for kColumns
// columns of the row from `column` on, values [kColumns] f32. Parts are added in order.
template <int kColumns, typename Store>
__device__ __forceinline__ void merge_row(const MergeCall& call, int32_t begin, int32_t end,
                                          int64_t head, Store&& store) {
  constexpr float kLog2E = 1.44269504088896f;
  constexpr float kMinusInfinity = -INFINITY;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const auto entry_of = [&](int32_t part) { return call.entries[part] + head; };

  float m = kMinusInfinity;
  for (int32_t part = begin + lane; part < end; part += kWarp) m = fmaxf(m, call.m[entry_of(part)]);
  m = warp_max(m);
  if (m == kMinusInfinity) m = 0.0f;  // no part saw a key: exp(-inf - 0) is 0

  for (int64_t first_column = 0; first_column < call.head_dim; first_column += kWarp * kColumns) {
    const int64_t column = first_column + lane * kColumns;
    float sums[kColumns] = {}, n = 0.0f;
    for (int32_t first = begin; first < end; first += kWarp) {
      LanePart part;
      if (first + lane < end) {
        part.entry = entry_of(first + lane);
        part.weight = exp2_approx((call.m[part.entry] - m) * kLog2E);
        n += part.weight * call.n[part.entry];
      }
      add_parts<kColumns>(call, part, min(end - first, kWarp), column, sums);
    }
    n = warp_sum(n);
    const float inverse = n == 0.0f ? 0.0f : 1.0f / n;  // NaN stays NaN
    if (column >= call.head_dim) continue;
    REPRISE_UNROLL
    for (int i = 0; i < kColumns; ++i) sums[i] *= inverse;
    store(column, sums);
  }
}

template <typename Out, int kColumns>
__device__ __forceinline__ void store_merged(Out* to, const float (&merged)[kColumns]) {
  REPRISE_UNROLL
  for (int i = 0; i < kColumns; ++i) to[i] = rounded_to<Out>(merged[i]);
}

}  // namespace reprise::kernels::cuda
