// The work of a warp of the attention kernel on a tile of keys: copies, products, softmax. The
// kernel and its organization are in attention_kernel.cuh.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/kernels/attention/cuda/attention_task.h"
#include "core/kernels/attention/cuda/tiles.h"
#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"

namespace reprise::kernels::cuda {

inline constexpr float kNothingSeen = -std::numeric_limits<float>::infinity();

// The sizes of a kernel that must be known at compile time. T is the cache's type, in which keys,
// values, queries and weights are multiplied. kMayHaveBias: scores may have ALiBi's term; the code
// that adds this term costs registers even if it never runs.
template <typename T_, int kHeadDim_, int kShape, bool kMayHaveBias_ = true>
struct AttentionTile {
  using T = T_;
  static constexpr bool kMayHaveBias = kMayHaveBias_;
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
  static constexpr bool kByTensorMaps = kTileShapes[kShape].by_tensor_maps;
  static_assert(kByWarpgroups || !kByTensorMaps);

  static constexpr int kChunk = 8;                   // elements of a 16-byte copy
  static constexpr int kChunks = kHeadDim / kChunk;  // 16-byte copies of a row
  static constexpr int kPitch = kHeadDim + kChunk;   // distance between rows in shared memory
  static constexpr int kTileElements = kKeys * (kByWarpgroups ? kHeadDim : kPitch);
  static constexpr int kStageElements = 2 * kTileElements;  // keys, then values
  static constexpr int kQueryElements = kByWarpgroups ? kLanes * kHeadDim : 0;
  static constexpr size_t kSharedBytes =
      static_cast<size_t>(kTileShapes[kShape].shared_bytes(kHeadDim));

  static_assert(is_half_like<T> && kHeadDim % 16 == 0 && kWarpKeys % 16 == 0);
  static_assert(kLanes == 16 * kLaneWarps && kStages >= 2);
  static_assert(kLanes <= 2 * kKeys, "the queries pass through one stage");
  static_assert(kSharedBytes == (kStages * kStageElements + kQueryElements) * sizeof(T) +
                                    (kByWarpgroups ? kControlBytes : 0));
  static_assert(kTileShapes[kShape].has_head_dim(kHeadDim));

  // Index of element (row, column) of a matrix of `rows` rows in shared memory; `column` is a
  // multiple of kChunk. If kByWarpgroups, the matrix consists of panels of 64 columns, see
  // swizzled_matrix().
  __device__ static constexpr int at(int rows, int row, int column) {
    if (!kByWarpgroups) return row * kPitch + column;
    // Unsigned, so that divisions are shifts.
    const auto c = static_cast<unsigned>(column), r = static_cast<unsigned>(row);
    return static_cast<int>((c / kPanel * static_cast<unsigned>(rows) + r) * kPanel +
                            swizzled_chunk(r, c / kChunk % 8) * kChunk);
  }
  static constexpr int kPanel = kSwizzledBytes / static_cast<int>(sizeof(T));  // columns
};

// Returns index / divisor, for indices below 2^31.
__device__ __forceinline__ unsigned quotient(unsigned index, const Divisor& divisor) {
  return (__umulhi(index, divisor.multiplier) + index) >> divisor.shift;
}

// ---- The lanes of a thread ----

// A lane's row, counted from the item's first row, and its head among all query heads.
struct RowHead {
  int row = 0, head = 0;
};
__device__ __forceinline__ RowHead row_head(const AttentionCall& call, const AttentionTask& task,
                                            int kv_head, int lane) {
  const auto index = static_cast<unsigned>(task.first_lane + lane);
  const unsigned row = quotient(index, call.group);
  return {static_cast<int>(row),
          static_cast<int>(static_cast<unsigned>(kv_head) * call.group.value + index -
                           row * call.group.value)};
}

// One of the two lanes of a thread: in the fragments of a product, thread (g, t) of a warp has rows
// g and g + 8.
struct ThreadLane {
  int lane = 0;  // index in the tile
  int row = 0, head = 0;
  int low = 0, high = 0;  // keys [low, high) are seen; empty for lanes beyond the task's
  int position = 0;       // position of the row; set only with a window or ALiBi
  float slope = 0.0f;     // ALiBi slope; rounded to bf16 if AttentionCall::alibi_is_rounded
};

__device__ __forceinline__ float rounded_to_bf16(float x) {
  return unpack_pair<__nv_bfloat16>(pack_pair<__nv_bfloat16>(x, 0.0f)).x;
}

__device__ __forceinline__ ThreadLane thread_lane(const AttentionCall& call,
                                                  const AttentionTask& task, int kv_head,
                                                  int lane) {
  const RowHead of = row_head(call, task, kv_head, lane);
  ThreadLane out;
  out.lane = lane;
  out.row = of.row;
  out.head = of.head;
  if (lane >= task.lanes) return out;
  if (call.window > 0 || call.alibi_slopes != nullptr)
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

// Addresses of the keys and values of a task and kv head.
template <class Tile>
struct TaskKeys {
  using T = typename Tile::T;

  // The place of an element in keys and in values: the offset of its block, and its distance from
  // the block's first element.
  struct Place {
    int64_t block = 0;
    int behind = 0;

    [[nodiscard]] __device__ __forceinline__ int64_t element() const { return block + behind; }
  };

  const T *keys, *values;  // of the kv head, for block offset 0
  const int64_t* block_offsets;
  Divisor block_tokens;
  unsigned first_token;  // of the task's keys, counted from the first block's begin
  int num_keys, tiles;

  __device__ __forceinline__ TaskKeys(const AttentionCall& call, const AttentionTask& task,
                                      int kv_head)
      : block_offsets(call.block_offsets + task.first_block),
        block_tokens(task.block_tokens),
        first_token(static_cast<unsigned>(task.skipped + task.first_key)),
        num_keys(max(0, task.end_key - task.first_key)),
        tiles((num_keys + Tile::kKeys - 1) / Tile::kKeys) {
    const DeviceCache cache = call.caches[task.cache];
    const int64_t base = call.layer * cache.layer_stride + kv_head * cache.head_stride;
    keys = static_cast<const T*>(cache.keys) + base;
    values = static_cast<const T*>(cache.values) + base;
  }

  [[nodiscard]] __device__ __forceinline__ Place place_of(unsigned token) const {
    const unsigned block = quotient(token, block_tokens);
    return {__ldg(block_offsets + block),
            static_cast<int>((token - block * block_tokens.value) * Tile::kHeadDim)};
  }
};

// Copies a task's tiles of keys and values to a ring of stages in shared memory. Each warp copies
// kRows rows of a tile; each of its lanes looks up the place of one of these rows. Places are
// looked up long before the tile is copied, because a lookup takes a division and waits for a load.
template <class Tile>
struct TileCopies : TaskKeys<Tile> {
  using T = typename Tile::T;
  using Keys = TaskKeys<Tile>;
  using Keys::first_token;
  using Keys::keys;
  using Keys::num_keys;
  using Keys::values;
  static constexpr int kRows = Tile::kKeys * kWarp / Tile::kThreads;
  static constexpr int kChunks = Tile::kChunks;
  static constexpr int kRounds = (kRows * kChunks + kWarp - 1) / kWarp;

  T* ring;
  int row;  // the row of a tile that the lane looks up

  __device__ __forceinline__ TileCopies(const AttentionCall& call, const AttentionTask& task,
                                        int kv_head)
      : Keys(call, task, kv_head),
        ring(dynamic_shared<T>()),
        row(static_cast<int>(threadIdx.x) / kWarp * kRows +
            static_cast<int>(threadIdx.x) % kWarp % kRows) {}

  __device__ __forceinline__ T* stage_of(int tile) const {
    return ring + tile % Tile::kStages * Tile::kStageElements;
  }

  // Element offset, in keys and in values, of the lane's row of the tile. Rows beyond the task's
  // keys get the last key's offset; the task must have a key.
  __device__ __forceinline__ int64_t look_up(int tile) const {
    const int key = min(tile * Tile::kKeys + row, num_keys - 1);
    return this->place_of(first_token + static_cast<unsigned>(key)).element();
  }

  // Starts to copy a tile; `place` is the result of look_up() for it. Rows beyond the task's keys
  // become 0: their weight is 0, but 0 * NaN would make the sums NaN.
  __device__ __forceinline__ void start(int tile, int64_t place) const {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const unsigned lane = threadIdx.x % kWarp;
    T* const stage = stage_of(tile);
    const int left = num_keys - tile * Tile::kKeys - warp * kRows;  // keys from the warp's row 0 on
    REPRISE_UNROLL
    for (unsigned round = 0; round < kRounds; ++round) {
      const unsigned i = lane + round * kWarp;
      const unsigned in_warp = i / kChunks, column = i % kChunks * Tile::kChunk;
      const int64_t element = __shfl_sync(kAllLanes, place, static_cast<int>(in_warp)) + column;
      if (kRows * kChunks % kWarp != 0 && i >= kRows * kChunks) continue;
      const int bytes = static_cast<int>(in_warp) < left ? 16 : 0;
      T* const to = stage + Tile::at(Tile::kKeys, warp * kRows + static_cast<int>(in_warp),
                                     static_cast<int>(column));
      copy_async<16>(to, keys + element, bytes);
      copy_async<16>(to + Tile::kTileElements, values + element, bytes);
    }
  }
};

// Converts eight elements of a query from Q to T. Q's elements were loaded as one or two words of
// 16 bytes.
template <typename T, typename Q>
__device__ __forceinline__ uint4 queries_as(const uint4 (&words)[2]) {
  if constexpr (std::is_same_v<Q, T>) {
    return words[0];
  } else if constexpr (std::is_same_v<Q, float>) {
    const auto pair = [](unsigned low, unsigned high) {
      return pack_pair<T>(__uint_as_float(low), __uint_as_float(high));
    };
    return {pair(words[0].x, words[0].y), pair(words[0].z, words[0].w),
            pair(words[1].x, words[1].y), pair(words[1].z, words[1].w)};
  } else {
    const auto pair = [](uint32_t word) {
      const float2 values = unpack_pair<Q>(word);
      return pack_pair<T>(values.x, values.y);
    };
    return {pair(words[0].x), pair(words[0].y), pair(words[0].z), pair(words[0].w)};
  }
}

// Calls use(T{}) with the dtype's type. This is visit_device_dtype() for device code: nvcc refuses
// one function that calls lambdas of the host and of the device.
template <typename Use>
__device__ __forceinline__ void with_dtype(DType dtype, Use&& use) {
  switch (dtype) {
    case DType::kF32:
      return use(float{});
    case DType::kBF16:
      return use(__nv_bfloat16{});
    case DType::kF16:
      return use(__half{});
  }
}

// The queries that one of kThreads threads copies to shared memory, rounded to T. Together the
// threads copy kLanes lanes of the tile, from first_lane on; lanes beyond the task's become 0.
// `thread` is this thread's number, from 0. Queries are loaded long before they are stored.
template <class Tile, int kLanes = Tile::kLanes, int kThreads = Tile::kThreads>
struct QueryCopies {
  static constexpr unsigned kChunks = Tile::kChunks;
  static constexpr int kCopies = kLanes * Tile::kChunks;
  static constexpr int kRounds = (kCopies + kThreads - 1) / kThreads;
  int first_lane = 0;
  unsigned thread = threadIdx.x;
  uint4 words[kRounds][2];

  __device__ __forceinline__ int lane_of(int round) const {
    return first_lane +
           static_cast<int>((thread + static_cast<unsigned>(round * kThreads)) / kChunks);
  }
  __device__ __forceinline__ int column_of(int round) const {
    return static_cast<int>((thread + static_cast<unsigned>(round * kThreads)) % kChunks) *
           Tile::kChunk;
  }
  // Loads the queries. For a lane beyond the task's lanes, loads the queries of the task's last
  // lane.
  __device__ __forceinline__ void load(const AttentionCall& call, const AttentionTask& task,
                                       int kv_head) {
    with_dtype(call.q_dtype, [&](auto zero) {
      using Q = decltype(zero);
      const Q* const q = static_cast<const Q*>(call.q) + task.first_row * call.q_row_stride;
      REPRISE_UNROLL
      for (int round = 0; round < kRounds; ++round) {
        const RowHead of = row_head(call, task, kv_head, min(lane_of(round), task.lanes - 1));
        const Q* const from =
            q + of.row * call.q_row_stride + of.head * Tile::kHeadDim + column_of(round);
        words[round][0] = load_once(from);
        words[round][1] = sizeof(Q) == 4 ? load_once(from + 4) : uint4{0, 0, 0, 0};
      }
    });
  }
  __device__ __forceinline__ void store(const AttentionCall& call, const AttentionTask& task,
                                        typename Tile::T* shared) const {
    with_dtype(call.q_dtype, [&](auto zero) {
      REPRISE_UNROLL
      for (int round = 0; round < kRounds; ++round) {
        const int lane = lane_of(round);
        if (kCopies % kThreads != 0 && lane >= first_lane + kLanes) continue;
        *reinterpret_cast<uint4*>(shared + Tile::at(Tile::kLanes, lane, column_of(round))) =
            lane < task.lanes ? queries_as<typename Tile::T, decltype(zero)>(words[round])
                              : uint4{0, 0, 0, 0};
      }
    });
  }
};

// ---- Products and softmax of one warp: 16 lanes, kWarpKeys keys at a time ----

// The running softmax: m is the largest score so far in units of log2, n the sum of the weights
// 2^(score - m), o the sum of the values times their weights [ChunkAttention §3.2, eq. 1]. n sums
// only the weights that this thread holds.
template <class Tile>
struct WarpState {
  // Fragments `a` of the queries. Warpgroups read queries from shared memory instead.
  uint32_t q[Tile::kByWarpgroups ? 1 : Tile::kHeadDim / 16][4];
  float o[Tile::kHeadDim / 8][4];  // fragments `c`
  float m[2], n[2];                // the thread's two lanes
};

template <class Tile>
using WarpScores = float[Tile::kWarpKeys / 8][4];  // fragments `c`: lanes x keys

// Loads the warp's query fragments. QueryCopies wrote `queries`; `first` is the warp's first lane
// among them.
template <class Tile>
__device__ __forceinline__ void load_queries(WarpState<Tile>& state,
                                             const typename Tile::T* queries, int first) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  // The four matrices are the quarters of a fragment: upper left, lower left, upper right, lower
  // right.
  REPRISE_UNROLL
  for (int k = 0; k < Tile::kHeadDim / 16; ++k)
    load_matrices<4>(state.q[k],
                     queries + Tile::at(Tile::kLanes, first + lane % 16, 16 * k + lane / 16 * 8));
}

// Sets m and n for lanes that have seen no key yet.
template <class Tile>
__device__ __forceinline__ void begin_softmax(WarpState<Tile>& state) {
  REPRISE_UNROLL
  for (int i = 0; i < 2; ++i) {
    state.m[i] = kNothingSeen;
    state.n[i] = 0.0f;
  }
}

template <class Tile>
__device__ __forceinline__ void begin_state(WarpState<Tile>& state) {
  REPRISE_UNROLL
  for (int d = 0; d < Tile::kHeadDim / 8; ++d) {
    REPRISE_UNROLL
    for (int i = 0; i < 4; ++i) state.o[d][i] = 0.0f;
  }
  begin_softmax<Tile>(state);
}

// Computes scores = q k^T. B(k, n) of the product is dimension k of key n, so the keys' rows are
// the rows of B's transpose. Four matrices are loaded at a time, two fragments `b`: dimensions 0-7
// and 8-15 of keys 0-7, then of keys 8-15.
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

// Starts scores = q k^T, computed by the whole warpgroup. `queries` points to the warpgroup's first
// lane in the panels that QueryCopies wrote. Groups of 8 lanes or of 8 keys are 8 rows apart.
template <class Tile>
__device__ __forceinline__ void start_keys(const typename Tile::T* queries,
                                           const typename Tile::T* keys, WarpScores<Tile>& scores) {
  using T = typename Tile::T;
  constexpr auto kRows = RowsOfB::kColumnsOfProduct;
  const auto in_panels = [](int rows, int column) {
    return column / Tile::kPanel * rows * Tile::kPanel + column % Tile::kPanel;
  };
  const uint64_t a = swizzled_matrix(queries, 0, 8 * kSwizzledBytes);
  const uint64_t b = swizzled_matrix(keys, 0, 8 * kSwizzledBytes);
  warpgroup_multiply_add<T, kRows>(scores, a, b, Sums::kNew);
  REPRISE_UNROLL
  for (int k = 1; k < Tile::kHeadDim / 16; ++k)
    warpgroup_multiply_add<T, kRows>(scores, moved_matrix<T>(a, in_panels(Tile::kLanes, 16 * k)),
                                     moved_matrix<T>(b, in_panels(Tile::kKeys, 16 * k)));
}

// Turns the products q k^T into scores in units of log2, with bias. Without kMayHaveBias, `scores`
// stay products, which weigh_scores() scales. Keys that a lane does not see get -inf. `first` is
// the index of the warp's first key.
template <class Tile>
__device__ __forceinline__ void finish_scores(const AttentionCall& call, const AttentionTask& task,
                                              const ThreadLane (&lanes)[2], int first,
                                              WarpScores<Tile>& scores) {
  const int first_of_thread = first + static_cast<int>(threadIdx.x) % 4 * 2;
  if constexpr (Tile::kMayHaveBias) {
    REPRISE_UNROLL
    for (int j = 0; j < Tile::kWarpKeys / 8; ++j) {
      // Not *=, which nvcc may fuse with the subtraction of m.
      REPRISE_UNROLL
      for (int i = 0; i < 4; ++i) scores[j][i] = __fmul_rn(scores[j][i], call.scale_log2);
    }
  }
  if (Tile::kMayHaveBias && call.alibi_slopes != nullptr) {
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

// Number of independent chains of additions, or of maxima, into which a thread divides a lane's
// scores, so that an operation need not wait for the one before it.
inline constexpr int kChains = 4;

// Combines the values of the four threads that share a lane; each of them gets the result.
template <typename Combine>
__device__ __forceinline__ float over_quad(float x, Combine&& combine) {
  x = combine(x, __shfl_xor_sync(kAllLanes, x, 1));
  return combine(x, __shfl_xor_sync(kAllLanes, x, 2));
}

// If |m| is below this bound, product * scale - m is computed with a single rounding. For the key
// of the largest score, the exact difference is 0, and the computed one is then below 1. For a
// larger |m| the scaled product is rounded before the subtraction, as m was.
inline constexpr float kFusedBelow = 0x1p24f;

// Raises m to the largest score of the tile, turns the scores into weights 2^(score - m) and adds
// the weights to n. Returns, for each of the thread's two lanes, the factor by which the sums so
// far must be multiplied. A score that is NaN does not become m, but its weight is NaN, which stays
// in n and o.
template <class Tile>
__device__ __forceinline__ float2 weigh_scores(const AttentionCall& call, WarpState<Tile>& state,
                                               WarpScores<Tile>& scores) {
  const float scale = Tile::kMayHaveBias ? 1.0f : call.scale_log2;
  float bases[2], corrections[2];
  REPRISE_UNROLL
  for (int i = 0; i < 2; ++i) {
    float ms[kChains];
    REPRISE_UNROLL
    for (float& m : ms) m = kNothingSeen;
    REPRISE_UNROLL
    for (int j = 0; j < Tile::kWarpKeys / 8; ++j)
      ms[j % kChains] = fmaxf(ms[j % kChains], fmaxf(scores[j][2 * i], scores[j][2 * i + 1]));
    const float m = scale * over_quad(fmaxf(fmaxf(ms[0], ms[1]), fmaxf(ms[2], ms[3])),
                                      [](float a, float b) { return fmaxf(a, b); });
    const float raised = fmaxf(state.m[i], m);
    bases[i] = raised == kNothingSeen ? 0.0f : raised;  // because -inf - -inf is NaN
    corrections[i] = exp2_approx(state.m[i] - bases[i]);
    state.m[i] = raised;
  }
  float ns[2][kChains] = {};
  const auto weigh = [&](auto&& less_m) {
    REPRISE_UNROLL
    for (int j = 0; j < Tile::kWarpKeys / 8; ++j) {
      REPRISE_UNROLL
      for (int i = 0; i < 4; ++i) {
        scores[j][i] = exp2_approx(less_m(scores[j][i], bases[i / 2]));
        ns[i / 2][j % kChains] += scores[j][i];
      }
    }
  };
  if constexpr (Tile::kMayHaveBias) {
    weigh([](float score, float m) { return score - m; });
  } else if (__all_sync(kAllLanes, fmaxf(fabsf(bases[0]), fabsf(bases[1])) < kFusedBelow)) {
    weigh([&](float product, float m) { return fmaf(product, scale, -m); });
  } else {
    weigh([&](float product, float m) { return __fmul_rn(product, scale) - m; });
  }
  REPRISE_UNROLL
  for (int i = 0; i < 2; ++i)
    state.n[i] = state.n[i] * corrections[i] + ((ns[i][0] + ns[i][1]) + (ns[i][2] + ns[i][3]));
  return {corrections[0], corrections[1]};
}

// Multiplies o by the corrections if any lane of the warp has raised its m.
template <class Tile>
__device__ __forceinline__ void correct_sums(WarpState<Tile>& state, float2 corrections) {
  if (__all_sync(kAllLanes, corrections.x == 1.0f && corrections.y == 1.0f)) return;
  REPRISE_UNROLL
  for (int d = 0; d < Tile::kHeadDim / 8; ++d) {
    state.o[d][0] *= corrections.x;
    state.o[d][1] *= corrections.x;
    state.o[d][2] *= corrections.y;
    state.o[d][3] *= corrections.y;
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

// Computes o += weights v. B(k, n) of the product is dimension n of the value of key k, so the rows
// of B are the rows of `values`.
template <class Tile>
__device__ __forceinline__ void multiply_values(WarpState<Tile>& state,
                                                const WarpScores<Tile>& weights,
                                                const typename Tile::T* values) {
  using T = typename Tile::T;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const T* row = values + lane % 16 * Tile::kPitch + lane / 16 * 8;
  REPRISE_UNROLL
  for (int j = 0; j < Tile::kWarpKeys / 16; ++j) {
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

// All weights of a tile, rounded, as fragments `a`.
template <class Tile>
using WarpWeights = uint32_t[Tile::kWarpKeys / 16][4];

// Starts o += weights v, or o = weights v, computed by the whole warpgroup. Panels of 64 dimensions
// are kKeys rows apart; groups of 8 keys are 8 rows apart.
template <class Tile>
__device__ __forceinline__ void start_values(WarpState<Tile>& state,
                                             const WarpWeights<Tile>& weights,
                                             const typename Tile::T* values, bool are_first) {
  using T = typename Tile::T;
  constexpr auto kRows = RowsOfB::kRowsOfProduct;
  const uint64_t first = swizzled_matrix(values, Tile::kKeys * kSwizzledBytes, 8 * kSwizzledBytes);
  warpgroup_multiply_add<T, kRows>(state.o, weights[0], first,
                                   are_first ? Sums::kNew : Sums::kAddTo);
  REPRISE_UNROLL
  for (int j = 1; j < Tile::kWarpKeys / 16; ++j)
    warpgroup_multiply_add<T, kRows>(state.o, weights[j],
                                     moved_matrix<T>(first, 16 * j * Tile::kPanel));
}

}  // namespace reprise::kernels::cuda
