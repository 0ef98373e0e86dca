// The work of a warp of the attention kernel on a tile of keys: copies, products, softmax. The
// kernel and its organization are in attention_kernel.cuh.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/kernels/attention/cuda/attention_task.h"
#include "core/kernels/attention/cuda/tiles.h"
#include "core/kernels/shared/cuda/ptx.cuh"

namespace reprise::kernels::cuda {

inline constexpr float kNothingSeen = -std::numeric_limits<float>::infinity();

// Everything that must be known at compile time. T is the cache's type, in which keys, values,
// queries and weights are multiplied.
template <typename T_, int kHeadDim_, int kShape>
struct AttentionTile {
  using T = T_;
  static constexpr int kHeadDim = kHeadDim_;
  static constexpr int kLanes = kTileShapes[kShape].lanes;
  static constexpr int kKeys = kTileShapes[kShape].keys;
  static constexpr int kLaneWarps = kTileShapes[kShape].lane_warps;
  static constexpr int kKeyWarps = kTileShapes[kShape].key_warps;
  static constexpr int kStages = kTileShapes[kShape].stages;
  static constexpr int kBlocks = kTileShapes[kShape].blocks;
  static constexpr int kThreads = kTileShapes[kShape].threads();
  static constexpr int kWarpKeys = kKeys / kKeyWarps;
  static constexpr bool kByWarpgroups = kTileShapes[kShape].by_warpgroups;

  static constexpr int kChunk = 8;                   // elements of a 16-byte copy
  static constexpr int kChunks = kHeadDim / kChunk;  // of a row
  static constexpr int kPitch = kHeadDim + kChunk;   // distance between rows in shared memory
  static constexpr int kTileElements = kKeys * (kByWarpgroups ? kHeadDim : kPitch);
  static constexpr int kStageElements = 2 * kTileElements;  // keys, then values
  static constexpr size_t kSharedBytes =
      static_cast<size_t>(kTileShapes[kShape].shared_bytes(kHeadDim));

  static_assert(is_half_like<T> && kHeadDim % 16 == 0 && kWarpKeys % 16 == 0);
  static_assert(kLanes == 16 * kLaneWarps && kStages >= 2);
  static_assert(kLanes <= 2 * kKeys, "the queries pass through one stage");
  static_assert(kSharedBytes == kStages * kStageElements * sizeof(T));
  static_assert(kTileShapes[kShape].has_head_dim(kHeadDim));

  // Index of element (row, column) of a matrix of `rows` rows in shared memory; column is a
  // multiple of kChunk. For warpgroups the matrix consists of panels of 64 columns, see
  // swizzled_matrix().
  __device__ static constexpr int at(int rows, int row, int column) {
    if (!kByWarpgroups) return row * kPitch + column;
    return (column / kPanel * rows + row) * kPanel +
           swizzled_chunk(row, column / kChunk % 8) * kChunk;
  }
  static constexpr int kPanel = kSwizzledBytes / sizeof(T);  // columns
};

// ---- The lanes of a thread ----

// In the fragments of a product, thread (g, t) of a warp has rows g and g + 8: two lanes of the
// tile.
struct ThreadLane {
  int lane = 0;           // index in the tile
  int row = 0, head = 0;  // row of the item; head among all query heads
  int low = 0, high = 0;  // keys [low, high) are seen; empty for lanes beyond the task's
  int position = 0;
  float slope = 0.0f;  // with ALiBi; rounded to bf16 if the bias is
};

__device__ __forceinline__ float rounded_to_bf16(float x) {
  return unpack_pair<__nv_bfloat16>(pack_pair<__nv_bfloat16>(x, 0.0f)).x;
}

__device__ __forceinline__ ThreadLane thread_lane(const AttentionCall& call,
                                                  const AttentionTask& task, int kv_head,
                                                  int lane) {
  const int group = call.heads / call.kv_heads;
  ThreadLane out;
  out.lane = lane;
  out.row = (task.first_lane + lane) / group;
  out.head = kv_head * group + (task.first_lane + lane) % group;
  if (lane >= task.lanes) return out;
  out.position = call.row_positions[task.first_row + out.row];
  out.low = task.first_key;
  if (call.window > 0) out.low = max(out.low, out.position - call.window + 1 - task.first_position);
  out.high = min(task.end_key, task.visible + out.row);
  if (call.alibi_slopes == nullptr) return out;
  const float slope = call.alibi_slopes[out.head];
  out.slope = call.alibi_is_rounded ? rounded_to_bf16(slope) : slope;
  return out;
}

// The ALiBi term of a score, in units of log2; see AlibiView.
__device__ __forceinline__ float alibi_bias(const AttentionCall& call, const ThreadLane& lane,
                                            int key_position) {
  if (!call.alibi_is_rounded)
    return call.alibi_log2 * lane.slope * static_cast<float>(key_position - lane.position);
  const auto term = [&](int position) {
    return rounded_to_bf16(lane.slope * rounded_to_bf16(static_cast<float>(position)));
  };
  return call.alibi_log2 * (term(key_position) - term(lane.position));
}

// ---- Copies ----

// Starts to copy keys [first, first + kKeys) of the task and their values, one kv head of each, to
// a stage. Rows beyond the task's keys become 0, since 0 * NaN would reach the sums. `keys` and
// `values` point at block offset 0.
template <class Tile>
__device__ __forceinline__ void copy_keys(const AttentionCall& call, const AttentionTask& task,
                                          const typename Tile::T* keys,
                                          const typename Tile::T* values, int first,
                                          typename Tile::T* stage) {
  REPRISE_UNROLL
  for (int i = static_cast<int>(threadIdx.x); i < Tile::kKeys * Tile::kChunks;
       i += Tile::kThreads) {
    const int row = i / Tile::kChunks, column = i % Tile::kChunks * Tile::kChunk;
    const int key = first + row;
    int64_t element = 0;
    int bytes = 0;
    if (key < task.end_key) {
      const unsigned at = static_cast<unsigned>(task.skipped + key);
      const unsigned block_tokens = static_cast<unsigned>(task.block_tokens);
      element = __ldg(call.block_offsets + task.first_block + at / block_tokens) +
                static_cast<int64_t>(at % block_tokens) * Tile::kHeadDim + column;
      bytes = 16;
    }
    typename Tile::T* to = stage + Tile::at(Tile::kKeys, row, column);
    copy_async<16>(to, keys + element, bytes);
    copy_async<16>(to + Tile::kTileElements, values + element, bytes);
  }
}

// Loads eight consecutive queries of any dtype, as T.
template <typename T>
__device__ __forceinline__ uint4 load_queries_as(const void* q, DType dtype, int64_t element) {
  if (dtype == DType::kF32) {
    const auto* from = static_cast<const float*>(q) + element;
    const uint4 a = load_once(from), b = load_once(from + 4);
    const auto pair = [](unsigned low, unsigned high) {
      return pack_pair<T>(__uint_as_float(low), __uint_as_float(high));
    };
    return {pair(a.x, a.y), pair(a.z, a.w), pair(b.x, b.y), pair(b.z, b.w)};
  }
  const uint4 bits = load_once(static_cast<const T*>(q) + element);
  constexpr bool kIsBf16 = std::is_same_v<T, __nv_bfloat16>;
  if ((dtype == DType::kBF16) == kIsBf16) return bits;
  using Other = std::conditional_t<kIsBf16, __half, __nv_bfloat16>;
  const auto pair = [](uint32_t word) {
    const float2 values = unpack_pair<Other>(word);
    return pack_pair<T>(values.x, values.y);
  };
  return {pair(bits.x), pair(bits.y), pair(bits.z), pair(bits.w)};
}

// Copies the tile's queries, rounded to T, to shared memory: kLanes rows; 0 for lanes beyond the
// task's.
template <class Tile>
__device__ __forceinline__ void copy_queries(const AttentionCall& call, const AttentionTask& task,
                                             int kv_head, typename Tile::T* shared) {
  const int group = call.heads / call.kv_heads;
  for (int i = static_cast<int>(threadIdx.x); i < Tile::kLanes * Tile::kChunks;
       i += Tile::kThreads) {
    const int lane = i / Tile::kChunks, column = i % Tile::kChunks * Tile::kChunk;
    uint4 bits{0, 0, 0, 0};
    if (lane < task.lanes) {
      const int row = (task.first_lane + lane) / group;
      const int head = kv_head * group + (task.first_lane + lane) % group;
      bits = load_queries_as<typename Tile::T>(
          call.q, call.q_dtype,
          static_cast<int64_t>(task.first_row + row) * call.q_row_stride +
              static_cast<int64_t>(head) * Tile::kHeadDim + column);
    }
    *reinterpret_cast<uint4*>(shared + Tile::at(Tile::kLanes, lane, column)) = bits;
  }
}

// ---- Products and softmax of one warp: 16 lanes, kWarpKeys keys at a time ----

// m is the largest score so far in units of log2; n is the sum of the weights 2^(score - m), o the
// sum of the values times their weights [ChunkAttention §3.2, eq. 1]. n is this thread's share: it
// covers the keys whose scores the thread holds.
template <class Tile>
struct WarpState {
  uint32_t q[Tile::kHeadDim / 16][4];  // fragments `a` of the queries
  float o[Tile::kHeadDim / 8][4];      // fragments `c`
  float m[2], n[2];                    // the thread's two lanes
};

template <class Tile>
using WarpScores = float[Tile::kWarpKeys / 8][4];  // fragments `c`: lanes x keys

// `queries` come from copy_queries(); `first` is the warp's first lane in them.
template <class Tile>
__device__ __forceinline__ void begin_state(WarpState<Tile>& state, const typename Tile::T* queries,
                                            int first) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  // The quarters are in the order upper left, lower left, upper right, lower right.
  REPRISE_UNROLL
  for (int k = 0; k < Tile::kHeadDim / 16; ++k)
    load_matrices<4>(state.q[k],
                     queries + Tile::at(Tile::kLanes, first + lane % 16, 16 * k + lane / 16 * 8));
  REPRISE_UNROLL
  for (int d = 0; d < Tile::kHeadDim / 8; ++d) {
    REPRISE_UNROLL
    for (int i = 0; i < 4; ++i) state.o[d][i] = 0.0f;
  }
  REPRISE_UNROLL
  for (int i = 0; i < 2; ++i) {
    state.m[i] = kNothingSeen;
    state.n[i] = 0.0f;
  }
}

// scores = q k^T. B(k, n) of the product is dimension k of key n, so the keys' rows are the rows of
// B's transpose. Four matrices at a time are two fragments: dimensions 0-7 and 8-15 of keys 0-7,
// then of keys 8-15.
//
// With warpgroups, the keys are B's transpose in panels of 64 dimensions; groups of 8 keys are 8
// rows apart.
template <class Tile>
__device__ __forceinline__ void multiply_keys(const WarpState<Tile>& state,
                                              const typename Tile::T* keys,
                                              WarpScores<Tile>& scores) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  REPRISE_UNROLL
  for (int j = 0; j < Tile::kWarpKeys / 8; ++j) {
    REPRISE_UNROLL
    for (int i = 0; i < 4; ++i) scores[j][i] = 0.0f;
  }
  if constexpr (Tile::kByWarpgroups) {
    warpgroup_begin(scores);
    REPRISE_UNROLL
    for (int k = 0; k < Tile::kHeadDim / 16; ++k)
      warpgroup_multiply_add<typename Tile::T, RowsOfB::kColumnsOfProduct>(
          scores, state.q[k],
          swizzled_matrix(
              keys + 16 * k / Tile::kPanel * Tile::kKeys * Tile::kPanel + 16 * k % Tile::kPanel, 0,
              8 * kSwizzledBytes));
    warpgroup_finish(scores);
  } else {
    const auto* row = keys + (lane / 16 * 8 + lane % 8) * Tile::kPitch + lane / 8 % 2 * 8;
    REPRISE_UNROLL
    for (int k = 0; k < Tile::kHeadDim / 16; ++k) {
      REPRISE_UNROLL
      for (int j = 0; j < Tile::kWarpKeys / 16; ++j) {
        uint32_t both[4];
        load_matrices<4>(both, row + 16 * j * Tile::kPitch + 16 * k);
        const uint32_t left[2] = {both[0], both[1]}, right[2] = {both[2], both[3]};
        multiply_add<typename Tile::T>(scores[2 * j], state.q[k], left);
        multiply_add<typename Tile::T>(scores[2 * j + 1], state.q[k], right);
      }
    }
  }
}

// Scores in units of log2, with bias; -inf if a lane does not see the key. `first` is the index of
// the warp's first key.
template <class Tile>
__device__ __forceinline__ void finish_scores(const AttentionCall& call, const AttentionTask& task,
                                              const ThreadLane (&lanes)[2], int first,
                                              WarpScores<Tile>& scores) {
  const int first_of_thread = first + static_cast<int>(threadIdx.x) % 4 * 2;
  REPRISE_UNROLL
  for (int j = 0; j < Tile::kWarpKeys / 8; ++j) {
    REPRISE_UNROLL
    for (int i = 0; i < 4; ++i) scores[j][i] *= call.scale_log2;
  }
  if (call.alibi_slopes != nullptr) {
    REPRISE_UNROLL
    for (int j = 0; j < Tile::kWarpKeys / 8; ++j) {
      REPRISE_UNROLL
      for (int i = 0; i < 4; ++i)
        scores[j][i] +=
            alibi_bias(call, lanes[i / 2], task.first_position + first_of_thread + 8 * j + i % 2);
    }
  }
  const bool sees_all = max(lanes[0].low, lanes[1].low) <= first &&
                        first + Tile::kWarpKeys <= min(lanes[0].high, lanes[1].high);
  if (sees_all) return;
  REPRISE_UNROLL
  for (int j = 0; j < Tile::kWarpKeys / 8; ++j) {
    REPRISE_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int key = first_of_thread + 8 * j + i % 2;
      if (key < lanes[i / 2].low || key >= lanes[i / 2].high) scores[j][i] = kNothingSeen;
    }
  }
}

// Combines the values of the four threads that share a lane.
template <typename Combine>
__device__ __forceinline__ float over_quad(float x, Combine&& combine) {
  x = combine(x, __shfl_xor_sync(kAllLanes, x, 1));
  return combine(x, __shfl_xor_sync(kAllLanes, x, 2));
}

// Raises m to the tile's scores and turns these into weights 2^(score - m); updates n and o. A NaN
// does not become m, but its weight is NaN and stays in n and o.
template <class Tile>
__device__ __forceinline__ void weigh_scores(WarpState<Tile>& state, WarpScores<Tile>& scores) {
  REPRISE_UNROLL
  for (int i = 0; i < 2; ++i) {
    float m = state.m[i];
    REPRISE_UNROLL
    for (int j = 0; j < Tile::kWarpKeys / 8; ++j)
      m = fmaxf(m, fmaxf(scores[j][2 * i], scores[j][2 * i + 1]));
    m = over_quad(m, [](float a, float b) { return fmaxf(a, b); });
    const float base = m == kNothingSeen ? 0.0f : m;  // -inf - -inf would be NaN
    const float correction = exp2_approx(state.m[i] - base);
    float n = 0.0f;
    REPRISE_UNROLL
    for (int j = 0; j < Tile::kWarpKeys / 8; ++j) {
      REPRISE_UNROLL
      for (int c = 2 * i; c < 2 * i + 2; ++c) {
        scores[j][c] = exp2_approx(scores[j][c] - base);
        n += scores[j][c];
      }
    }
    state.m[i] = m;
    state.n[i] = state.n[i] * correction + n;
    REPRISE_UNROLL
    for (int d = 0; d < Tile::kHeadDim / 8; ++d) {
      state.o[d][2 * i] *= correction;
      state.o[d][2 * i + 1] *= correction;
    }
  }
}

// Turns the fragments `c` of 16 keys' weights, rounded to T, into a fragment `a`: both have the
// same rows and columns in the same threads.
template <class Tile>
__device__ __forceinline__ void round_weights(const WarpScores<Tile>& weights, int sixteen,
                                              uint32_t (&a)[4]) {
  using T = typename Tile::T;
  const auto& left = weights[2 * sixteen];
  const auto& right = weights[2 * sixteen + 1];
  a[0] = pack_pair<T>(left[0], left[1]);
  a[1] = pack_pair<T>(left[2], left[3]);
  a[2] = pack_pair<T>(right[0], right[1]);
  a[3] = pack_pair<T>(right[2], right[3]);
}

// o += weights v. B(k, n) is dimension n of key k, so the values' rows are B's rows.
//
// With warpgroups, panels of 64 dimensions are kKeys rows apart, groups of 8 keys 8 rows.
template <class Tile>
__device__ __forceinline__ void multiply_values(WarpState<Tile>& state,
                                                const WarpScores<Tile>& weights,
                                                const typename Tile::T* values) {
  using T = typename Tile::T;
  constexpr int kSixteens = Tile::kWarpKeys / 16;
  if constexpr (Tile::kByWarpgroups) {
    uint32_t a[kSixteens][4];  // all of them are made before warpgroup_begin()
    REPRISE_UNROLL
    for (int j = 0; j < kSixteens; ++j) round_weights<Tile>(weights, j, a[j]);
    warpgroup_begin(state.o);
    REPRISE_UNROLL
    for (int j = 0; j < kSixteens; ++j)
      warpgroup_multiply_add<T, RowsOfB::kRowsOfProduct>(
          state.o, a[j],
          swizzled_matrix(values + 16 * j * Tile::kPanel, Tile::kKeys * kSwizzledBytes,
                          8 * kSwizzledBytes));
    warpgroup_finish(state.o);
  } else {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const T* row = values + lane % 16 * Tile::kPitch + lane / 16 * 8;
    REPRISE_UNROLL
    for (int j = 0; j < kSixteens; ++j) {
      uint32_t a[4];
      round_weights<Tile>(weights, j, a);
      REPRISE_UNROLL
      for (int d = 0; d < Tile::kHeadDim / 16; ++d) {
        uint32_t both[4];
        load_matrices_transposed<4>(both, row + 16 * j * Tile::kPitch + 16 * d);
        const uint32_t first[2] = {both[0], both[1]}, second[2] = {both[2], both[3]};
        multiply_add<T>(state.o[2 * d], a, first);
        multiply_add<T>(state.o[2 * d + 1], a, second);
      }
    }
  }
}

}  // namespace reprise::kernels::cuda
