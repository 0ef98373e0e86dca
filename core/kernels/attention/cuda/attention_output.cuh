// Stores the results of a task, finished or partial, for both attention kernels.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/kernels/attention/cuda/attention_tile.cuh"

namespace reprise::kernels::cuda {

__device__ __forceinline__ bool is_alone(const AttentionTask& task) {
  return task.first_merged == AttentionTask::kAlone;
}

// The place of column 0 of one lane's result.
struct LaneOutput {
  int64_t element = 0;  // element of the output, or of the partial results
  int64_t entry = 0;    // entry of the partial results
};

template <class Tile>
__device__ __forceinline__ LaneOutput lane_output(const AttentionCall& call,
                                                  const AttentionTask& task, int row, int head) {
  LaneOutput out;
  const int64_t first =
      is_alone(task) ? static_cast<int64_t>(task.first_row) * call.heads : task.first_entry;
  out.entry = first + static_cast<int64_t>(row) * call.heads + head;
  out.element = out.entry * Tile::kHeadDim;
  return out;
}

template <typename Out>
__device__ __forceinline__ void store_pair(Out* to, float a, float b) {
  if constexpr (std::is_same_v<Out, float>) {
    *reinterpret_cast<float2*>(to) = make_float2(a, b);
  } else {
    *reinterpret_cast<uint32_t*>(to) = pack_pair<Out>(a, b);
  }
}

// The factor by which a lane's sums are multiplied: 1 / n, or 1 for partial results. Callers
// compute it once per lane, because the compiler would otherwise divide for each column.
__device__ __forceinline__ float factor_of(const AttentionTask& task, float n) {
  if (!is_alone(task)) return 1.0f;
  return n == 0.0f ? 0.0f : 1.0f / n;  // NaN is not 0, so it stays NaN
}

// Calls store(address) with the address of a lane's first column, in the output or in the partial
// results.
template <typename Store>
__device__ __forceinline__ void with_output(const AttentionCall& call, const AttentionTask& task,
                                            const LaneOutput& to, Store&& store) {
  if (!is_alone(task)) return store(call.partial_o + to.element);
  with_dtype(call.out_dtype,
             [&](auto zero) { store(static_cast<decltype(zero)*>(call.out) + to.element); });
}

__device__ __forceinline__ void store_sums(const AttentionCall& call, const AttentionTask& task,
                                           const LaneOutput& to, float m, float n) {
  constexpr float kLn2 = 0.693147180559945f;
  if (is_alone(task)) return;
  call.partial_m[to.entry] = m * kLn2;
  call.partial_n[to.entry] = n;
}

// The results of a thread's two lanes.
template <class Tile>
struct LaneResults {
  float o[Tile::kHeadDim / 8][4];  // fragments `c`, finished or partial
  float m[2], n[2];
};

template <class Tile>
__device__ __forceinline__ LaneResults<Tile> results_of(const AttentionTask& task,
                                                        const WarpState<Tile>& state) {
  LaneResults<Tile> out;
  REPRISE_UNROLL
  for (int i = 0; i < 2; ++i) {
    out.m[i] = state.m[i];
    out.n[i] = over_quad(state.n[i], [](float a, float b) { return a + b; });
    const float factor = factor_of(task, out.n[i]);
    REPRISE_UNROLL
    for (int d = 0; d < Tile::kHeadDim / 8; ++d) {
      out.o[d][2 * i] = state.o[d][2 * i] * factor;
      out.o[d][2 * i + 1] = state.o[d][2 * i + 1] * factor;
    }
  }
  return out;
}

// Stores the results of a block in which each warp has lanes of its own.
template <class Tile>
__device__ __forceinline__ void store_lanes(const AttentionCall& call, const AttentionTask& task,
                                            const ThreadLane (&lanes)[2],
                                            const LaneResults<Tile>& results) {
  const int t = static_cast<int>(threadIdx.x) % 4;
  REPRISE_UNROLL
  for (int i = 0; i < 2; ++i) {
    if (lanes[i].lane >= task.lanes) continue;
    const LaneOutput to = lane_output<Tile>(call, task, lanes[i].row, lanes[i].head);
    with_output(call, task, to, [&](auto* columns) {
      REPRISE_UNROLL
      for (int d = 0; d < Tile::kHeadDim / 8; ++d)
        store_pair(columns + 8 * d + 2 * t, results.o[d][2 * i], results.o[d][2 * i + 1]);
    });
    if (t == 0) store_sums(call, task, to, results.m[i], results.n[i]);
  }
}

}  // namespace reprise::kernels::cuda
