// The attention kernel: one source for few rows over long segments (decode), for many rows over a
// shared segment, and for prefill.
//
// Tasks of each tile (core/kernels/attention/cuda/tiles.h chooses by operations and bytes):
//   16 lanes   private and paged segments in decode: a row's query heads of one kv head fill a
//              product's 16 rows. Memory is the limit, so four warps take different keys of each
//              tile, two or three tiles are being copied, and long segments are cut into parts.
//   32, 64     shared segments [ChunkAttention's chunks, RelayAttention's system segment] with the
//              rows of a batch, and the uncached tokens of short prompts: keys are read once for 64
//              lanes, and the products cost less than the bytes.
//   128 lanes  prefill and large batches: each key in shared memory serves 128 lanes. The limit is
//              the products or the reads of shared memory: eight warps of 16 lanes each read the
//              whole tile, 9 * 4 K d bytes; A100 multiplies as fast as that, H100 twice as fast. So
//              sm_90a also has a shape by_warpgroups: wgmma reads a tile once for 64 lanes,
//              3 * 4 K d bytes, and queries from shared memory, too.
//
// A block computes one task and one kv head:
//   ring       keys and values of the next stages - 1 tiles are copied (cp.async) while one is
//              computed. One barrier a tile tells that its bytes have arrived and that the stage to
//              be filled next is no longer read.
//   scores     S = q k^T by mma.sync m16n8k16, operands by ldmatrix, sums in f32. The queries stay
//              in registers as fragments.
//   softmax    online, base 2: m grows, older sums are scaled by 2^(m_old - m_new). Scores are
//              multiplied by scale * log2(e) and rounded before m is subtracted: a fused
//              2^(s * scale - m) would keep the rounding error of m, which for scores of 10^9 is
//              more than 2^60. Where that error is small, warpgroups do fuse.
//   output     O = O * correction + P v by mma.sync, weights rounded to the cache's type.
//   end        finished rows go to the output, others become partial results. Several key warps
//              first merge in shared memory, in the order of the warps: no atomics, always the same
//              bits.
//
// Per block with head size d, L lanes and K keys: reads 4 K d bytes of keys and values and L d
// queries; writes L d results; 4 L K d FLOPs, L K exponentials. roofline.h gives the least time of
// these, tiled_work() of schedule.h what whole tiles add.
#pragma once

#include "core/kernels/attention/cuda/attention_tile.cuh"
#include "core/kernels/shared/cuda/launch.cuh"

namespace reprise::kernels::cuda {

// The place of one lane's result, from column 0 on.
struct LaneOutput {
  int64_t element = 0;  // element of the output, or of the partial results
  int64_t entry = 0;    // entry of the partial results
};

template <class Tile>
__device__ __forceinline__ LaneOutput lane_output(const AttentionCall& call,
                                                  const AttentionTask& task, int row, int head) {
  LaneOutput out;
  const int64_t first =
      task.is_alone != 0 ? static_cast<int64_t>(task.first_row) * call.heads : task.first_entry;
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

// The factor of a lane's sums when its task finishes rows. Computed once a lane, because the
// compiler would divide for each column.
__device__ __forceinline__ float finishing_factor(float n) {
  return n == 0.0f ? 0.0f : 1.0f / n;  // NaN is not 0, so it stays NaN
}

// Calls store(to, factor) with the address of a lane's first column, finished or partial, and the
// factor of its sums.
template <typename Store>
__device__ __forceinline__ void with_output(const AttentionCall& call, const AttentionTask& task,
                                            const LaneOutput& to, float n, Store&& store) {
  if (task.is_alone == 0) return store(call.partial_o + to.element, 1.0f);
  const float factor = finishing_factor(n);
  with_dtype(call.out_dtype, [&](auto zero) {
    store(static_cast<decltype(zero)*>(call.out) + to.element, factor);
  });
}

__device__ __forceinline__ void store_sums(const AttentionCall& call, const AttentionTask& task,
                                           const LaneOutput& to, float m, float n) {
  constexpr float kLn2 = 0.693147180559945f;
  if (task.is_alone != 0) return;
  call.partial_m[to.entry] = m * kLn2;
  call.partial_n[to.entry] = n;
}

// Stores from registers the results of a block whose warps have separate lanes.
template <class Tile>
__device__ __forceinline__ void store_lanes(const AttentionCall& call, const AttentionTask& task,
                                            const ThreadLane (&lanes)[2],
                                            const WarpState<Tile>& state) {
  const int t = static_cast<int>(threadIdx.x) % 4;
  REPRISE_UNROLL
  for (int i = 0; i < 2; ++i) {
    const float n = over_quad(state.n[i], [](float a, float b) { return a + b; });
    if (lanes[i].lane >= task.lanes) continue;
    const LaneOutput to = lane_output<Tile>(call, task, lanes[i].row, lanes[i].head);
    with_output(call, task, to, n, [&](auto* columns, float factor) {
      REPRISE_UNROLL
      for (int d = 0; d < Tile::kHeadDim / 8; ++d)
        store_pair(columns + 8 * d + 2 * t, state.o[d][2 * i] * factor,
                   state.o[d][2 * i + 1] * factor);
    });
    if (t == 0) store_sums(call, task, to, state.m[i], n);
  }
}

// Results that the key warps of a block exchange in shared memory, in place of the ring.
template <class Tile>
struct KeyWarpSums {
  // A multiple of 16, plus 8 floats: the 16 threads of a half warp store pairs to all 32 banks.
  static constexpr int kPitch = Tile::kHeadDim + 8;
  static constexpr int kWarps = Tile::kKeyWarps;

  float o[kWarps][Tile::kLanes][kPitch];
  float m[kWarps][Tile::kLanes];
  float n[kWarps][Tile::kLanes];
};

template <class Tile>
__device__ __forceinline__ void leave_sums(const ThreadLane (&lanes)[2], int key_warp,
                                           const WarpState<Tile>& state, KeyWarpSums<Tile>& sums) {
  const int t = static_cast<int>(threadIdx.x) % 4;
  REPRISE_UNROLL
  for (int i = 0; i < 2; ++i) {
    const int lane = lanes[i].lane;
    const float n = over_quad(state.n[i], [](float a, float b) { return a + b; });
    if (t == 0) {
      sums.m[key_warp][lane] = state.m[i];
      sums.n[key_warp][lane] = n;
    }
    REPRISE_UNROLL
    for (int d = 0; d < Tile::kHeadDim / 8; ++d)
      *reinterpret_cast<float2*>(&sums.o[key_warp][lane][8 * d + 2 * t]) =
          make_float2(state.o[d][2 * i], state.o[d][2 * i + 1]);
  }
}

// Merges the key warps of the block, two columns of a lane at a time. [ChunkAttention eq. 2]
template <class Tile>
__device__ __forceinline__ void merge_sums(const AttentionCall& call, const AttentionTask& task,
                                           int kv_head, const KeyWarpSums<Tile>& sums) {
  constexpr int kPairs = Tile::kHeadDim / 2;
  for (int i = static_cast<int>(threadIdx.x); i < task.lanes * kPairs; i += Tile::kThreads) {
    const int lane = i / kPairs, column = i % kPairs * 2;
    float m = kNothingSeen, n = 0.0f, a = 0.0f, b = 0.0f;
    for (int warp = 0; warp < Tile::kKeyWarps; ++warp) m = fmaxf(m, sums.m[warp][lane]);
    const float base = m == kNothingSeen ? 0.0f : m;
    for (int warp = 0; warp < Tile::kKeyWarps; ++warp) {
      const float weight = exp2_approx(sums.m[warp][lane] - base);
      n += weight * sums.n[warp][lane];
      a += weight * sums.o[warp][lane][column];
      b += weight * sums.o[warp][lane][column + 1];
    }
    const RowHead of = row_head(call, task, kv_head, lane);
    const LaneOutput to = lane_output<Tile>(call, task, of.row, of.head);
    with_output(call, task, to, n, [&](auto* columns, float factor) {
      store_pair(columns + column, a * factor, b * factor);
    });
    if (column == 0) store_sums(call, task, to, m, n);
  }
}

// The lane's rows of the next two tiles to be started: a lookup may take longer than a tile.
struct Places {
  int64_t next = 0, after_next = 0;
};

// The tiles of keys one after the other: products, softmax, products. The first kStages - 1 tiles
// have been started, and the next ones looked up.
template <class Tile>
__device__ __forceinline__ void compute_tiles(const AttentionCall& call, const AttentionTask& task,
                                              const TileCopies<Tile>& copies, Places places,
                                              int key_warp, const ThreadLane (&lanes)[2],
                                              WarpState<Tile>& state) {
  using T = typename Tile::T;
  constexpr int kAhead = Tile::kStages - 1;
  const int first = key_warp * Tile::kWarpKeys;  // within the tile
  for (int tile = 0; tile < copies.tiles; ++tile) {
    copy_async_wait<kAhead - 1>();
    __syncthreads();
    if (tile + kAhead < copies.tiles) {
      copies.start(tile + kAhead, places.next);
      places = {places.after_next, copies.look_up(tile + kAhead + 2)};
    }
    copy_async_commit();  // an empty group for each missing tile
    const T* const tile_keys = copies.stage_of(tile) + first * Tile::kPitch;
    WarpScores<Tile> scores;
    multiply_keys<Tile>(state, tile_keys, scores);
    finish_scores<Tile>(call, task, lanes, task.first_key + tile * Tile::kKeys + first, scores);
    correct_sums<Tile>(state, weigh_scores<Tile>(call, state, scores));
    multiply_values<Tile>(state, scores, tile_keys + Tile::kTileElements);
  }
}

// Computes the tiles by two warpgroups that take turns: in an interval between two barriers, one
// multiplies while the other computes its softmax, so that the tensor cores always have work. A
// tile's scores are multiplied together with the values of the tile before it; so two tiles are in
// use while the next one is copied. The first tile has been started, and the next ones looked up.
//
//   interval       0           1               2               3               4
//   warpgroup 0    softmax 0   scores 1, v 0   softmax 1       scores 2, v 1   softmax 2
//   warpgroup 1                softmax 0       scores 1, v 0   softmax 1       scores 2, v 1
template <class Tile>
__device__ __forceinline__ void compute_tiles_by_warpgroups(
    const AttentionCall& call, const AttentionTask& task, const TileCopies<Tile>& copies,
    Places places, const typename Tile::T* queries, const ThreadLane (&lanes)[2],
    WarpState<Tile>& state) {
  static_assert(Tile::kStages == 3 && Tile::kThreads == 256);
  if (copies.tiles == 0) return;
  // By a shuffle, so that the compiler knows that a warp takes one branch.
  const int warpgroup = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / 128, 0);
  const typename Tile::T* const own = queries + 64 * warpgroup * Tile::kPanel;
  WarpScores<Tile> scores;
  WarpWeights<Tile> weights;
  const auto await_copies = [] {
    copy_async_wait<0>();
    fence_async_proxy();
  };
  const auto copy_next = [&](int tile) {
    if (tile < copies.tiles) {
      copies.start(tile, places.next);
      places = {places.after_next, copies.look_up(tile + 2)};
    }
    copy_async_commit();
  };
  const auto values_of = [&](int tile) { return copies.stage_of(tile) + Tile::kTileElements; };

  await_copies();
  __syncthreads();
  warpgroup_begin(scores);
  start_keys<Tile>(own, copies.stage_of(0), scores);
  warpgroup_commit();
  copy_next(1);
  warpgroup_wait<0>(scores);
  for (int interval = 0; interval < 2 * copies.tiles; ++interval) {
    const bool copies_now = interval % 2 == 1;
    const int next = (interval + 3) / 2;  // in the place of a tile that both have multiplied
    if (copies_now) await_copies();
    __syncthreads();
    if (interval % 2 == warpgroup) {
      const int tile = (interval - warpgroup) / 2;
      if (copies_now) copy_next(next);
      finish_scores<Tile>(call, task, lanes, task.first_key + tile * Tile::kKeys, scores);
      correct_sums<Tile>(state, weigh_scores<Tile>(call, state, scores));
      REPRISE_UNROLL
      for (int j = 0; j < Tile::kWarpKeys / 16; ++j) round_weights<Tile>(scores, j, weights[j]);
    } else {
      const int tile = (interval + 1 - warpgroup) / 2;
      if (tile == 0 || tile == copies.tiles) continue;
      warpgroup_begin(scores, state.o);
      start_keys<Tile>(own, copies.stage_of(tile), scores);
      start_values<Tile>(state, weights, values_of(tile - 1));
      warpgroup_commit();
      if (copies_now) copy_next(next);
      warpgroup_wait<0>(scores, state.o);
    }
  }
  warpgroup_begin(state.o);
  start_values<Tile>(state, weights, values_of(copies.tiles - 1));
  warpgroup_commit();
  warpgroup_wait<0>(state.o);
}

// Grid: a block for each task of call.tasks and kv head, kv heads fastest because a paged block's
// heads follow one another in memory. Block: Tile::kThreads. Dynamic shared memory:
// Tile::kSharedBytes.
template <class Tile>
__device__ __forceinline__ void attention_block(const AttentionCall& call) {
  const int block = static_cast<int>(blockIdx.x);
  const AttentionTask task = call.tasks[block / call.kv_heads];
  if (task.lanes == 0) return;
  const int kv_head = block % call.kv_heads;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane_warp = warp % Tile::kLaneWarps, key_warp = warp / Tile::kLaneWarps;
  const int g = static_cast<int>(threadIdx.x) % kWarp / 4;

  const TileCopies<Tile> copies(call, task, kv_head);
  // The first tiles are looked up and the queries loaded before the first copy, so that all of this
  // is on its way together.
  constexpr int kStarted = Tile::kByWarpgroups ? 1 : Tile::kStages - 1;
  int64_t places[kStarted + 2] = {};
  if (copies.tiles > 0) {
    REPRISE_UNROLL
    for (int tile = 0; tile < kStarted + 2; ++tile) places[tile] = copies.look_up(tile);
  }
  QueryCopies<Tile> query_copies;
  query_copies.load(call, task, kv_head);
  REPRISE_UNROLL
  for (int tile = 0; tile < kStarted; ++tile) {
    if (tile < copies.tiles) copies.start(tile, places[tile]);
    copy_async_commit();
  }
  const Places next{places[kStarted], places[kStarted + 1]};
  // In the stage that is not being filled, or behind the stages, for all tiles.
  auto* const queries = Tile::kByWarpgroups ? copies.ring + Tile::kStages * Tile::kStageElements
                                            : copies.stage_of(Tile::kStages - 1);
  query_copies.store(call, task, queries);
  const ThreadLane lanes[2] = {
      thread_lane(call, task, kv_head, 16 * lane_warp + g),
      thread_lane(call, task, kv_head, 16 * lane_warp + g + 8),
  };
  WarpState<Tile> state;
  begin_state<Tile>(state);
  if constexpr (Tile::kByWarpgroups) {
    compute_tiles_by_warpgroups<Tile>(call, task, copies, next, queries, lanes, state);
  } else {
    __syncthreads();
    load_queries<Tile>(state, queries, 16 * lane_warp);
    compute_tiles<Tile>(call, task, copies, next, key_warp, lanes, state);
  }

  if constexpr (Tile::kKeyWarps == 1) {
    store_lanes<Tile>(call, task, lanes, state);
  } else {
    static_assert(sizeof(KeyWarpSums<Tile>) <= Tile::kSharedBytes);
    auto& sums = *reinterpret_cast<KeyWarpSums<Tile>*>(copies.ring);
    __syncthreads();  // the ring is no longer read, and all copies have arrived by the last wait
    leave_sums<Tile>(lanes, key_warp, state, sums);
    __syncthreads();
    merge_sums<Tile>(call, task, kv_head, sums);
  }
}

// Kernels for sm_90a are empty on other architectures, where nobody launches them.
template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    attention_kernel(AttentionCall call) {
  if constexpr (!Tile::kByWarpgroups || kHasWarpgroups) attention_block<Tile>(call);
}

}  // namespace reprise::kernels::cuda
