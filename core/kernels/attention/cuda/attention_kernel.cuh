// The attention kernel: one source for few rows over long segments (decode), for many rows over a
// shared segment, and for prefill.
//
// Tasks of each tile shape, by number of lanes (a lane is a row and a query head; tiles.h chooses
// the shapes by operations and bytes). K is the keys of a tile, d the head size:
//   16 lanes   private and paged segments in decode: the query heads of a row that share a kv head
//              take the 16 rows of a product. Memory is the limit, so four warps take different
//              keys of each tile, one or two further tiles are being copied, and long segments are
//              cut into parts.
//   32, 64     shared segments [ChunkAttention's chunks, RelayAttention's system segment] with the
//              rows of a batch, and the uncached tokens of short prompts: keys are read once for
//              all of these lanes, and the products cost less than the bytes.
//   128 lanes  prefill and large batches: each key in shared memory serves 128 lanes. The limit is
//              the products or the traffic of shared memory: a tile is written once, and each of
//              eight warps of 16 lanes reads all of it, together 9 * 4 K d bytes. The products take
//              as long as this traffic on A100, half as long on H100. So sm_90a also has a shape
//              by_warpgroups: wgmma reads a tile once for 64 lanes, together with the write
//              3 * 4 K d bytes, and it reads queries from shared memory, too.
//
// A block computes one task and one kv head:
//   ring       keys and values of the next stages - 1 tiles are copied (cp.async) while one is
//              computed. After one barrier per tile, the tile's bytes have arrived, and no warp
//              reads the stage that is filled next.
//   scores     S = q k^T by mma.sync m16n8k16, operands by ldmatrix, sums in f32. The queries stay
//              in registers as fragments.
//   softmax    online, base 2: when m grows, older sums are scaled by 2^(m_old - m_new). Scores are
//              multiplied by scale * log2(e) and rounded before m is subtracted: a fused
//              2^(s * scale - m) would keep the rounding error of m in the exponent, and for scores
//              of 10^9 weights could become more than 2^60. Shapes by_warpgroups do fuse if m is
//              small (kFusedBelow).
//   output     O = O * correction + P v by mma.sync, weights rounded to the cache's type.
//   end        finished rows go to the output, others become partial results. Several key warps
//              first merge in shared memory, in the order of the warps and without atomics, so the
//              bits are always the same. If AttentionCall::arrivals is set, the block that stores
//              the last part of a row merges the row's partial results.
//
// Per block with head size d, L lanes and K keys in all: reads 4 K d bytes of keys and values and L
// d queries; writes L d results; 4 L K d FLOPs, L K exponentials. roofline.h gives the least time
// for this work; tiled_work() of schedule.h counts the work of whole tiles.
#pragma once

#include "core/kernels/attention/cuda/attention_merge.cuh"
#include "core/kernels/attention/cuda/attention_output.cuh"
#include "core/kernels/attention/cuda/attention_tile.cuh"
#include "core/kernels/attention/cuda/attention_warpgroups.cuh"
#include "core/kernels/shared/cuda/launch.cuh"

namespace reprise::kernels::cuda {

// Results that the key warps of a block exchange in shared memory. They overwrite the ring, which
// is no longer read.
template <class Tile>
struct KeyWarpSums {
  // Floats from one lane's sums to the next: a multiple of 16 plus 8, so that the 16 threads of a
  // half warp store pairs to all 32 banks.
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

// Merges the results of the block's key warps, two columns of a lane at a time. [ChunkAttention eq.
// 2]
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
    const float factor = factor_of(task, n);
    with_output(call, task, to,
                [&](auto* columns) { store_pair(columns + column, a * factor, b * factor); });
    if (column == 0) store_sums(call, task, to, m, n);
  }
}

// Element offsets of the lane's row in the next two tiles to be copied. They are looked up two
// tiles ahead, because a lookup may take longer than computing a tile.
struct Places {
  int64_t next = 0, after_next = 0;
};

// Computes the tiles of keys one after the other: scores, softmax, sums of values. The caller has
// started the copies of the first kStages - 1 tiles and looked up the places of the next two tiles.
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
    copy_async_commit();  // an empty group if no tile is left to copy
    const T* const tile_keys = copies.stage_of(tile) + first * Tile::kPitch;
    WarpScores<Tile> scores;
    multiply_keys<Tile>(state, tile_keys, scores);
    finish_scores<Tile>(call, task, lanes, task.first_key + tile * Tile::kKeys + first, scores);
    correct_sums<Tile>(state, weigh_scores<Tile>(call, state, scores));
    multiply_values<Tile>(state, scores, tile_keys + Tile::kTileElements);
  }
}

// Merges the rows of the block's task of which the block has stored the last part. It is a call
// that reads the task again: inlined, it changed the registers of most kernels, and the tile
// 16x64:1x4:3 of head size 64 needed 137 instead of 128, so that an SM held three blocks instead of
// four.
template <class Tile>
__device__ REPRISE_CALLED void merge_finished_rows(const AttentionCall& call) {
  const int block = static_cast<int>(blockIdx.x);
  const AttentionTask task = call.tasks[block / call.kv_heads];
  if (is_alone(task)) return;
  __syncthreads();  // all results of the block are stored
  merge_finished_lanes<Tile, Tile::kThreads / kWarp>(
      call, task, block % call.kv_heads, 0, task.lanes, static_cast<int>(threadIdx.x) / kWarp);
}

// Grid: one thread block for each task of call.tasks and each kv head. Neighbouring thread blocks
// take the kv heads of one task, because the heads of a block of the paged cache follow one another
// in memory. Threads of a thread block: Tile::kThreads. Dynamic shared memory: Tile::kSharedBytes.
template <class Tile>
__device__ __forceinline__ void attention_block(const AttentionCall& call) {
  let_next_kernel_begin();
  const int block = static_cast<int>(blockIdx.x);
  const AttentionTask task = call.tasks[block / call.kv_heads];
  if (task.lanes == 0) return;
  const int kv_head = block % call.kv_heads;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane_warp = warp % Tile::kLaneWarps, key_warp = warp / Tile::kLaneWarps;
  const int g = static_cast<int>(threadIdx.x) % kWarp / 4;

  const TileCopies<Tile> copies(call, task, kv_head);
  // The first tiles' places are looked up, and the queries are loaded, before the first copy, so
  // that all of these loads are under way together.
  constexpr int kStarted = Tile::kStages - 1;
  int64_t places[kStarted + 2] = {};
  if (copies.tiles > 0) {
    REPRISE_UNROLL
    for (int tile = 0; tile < kStarted + 2; ++tile) places[tile] = copies.look_up(tile);
  }
  await_previous_kernels();  // the schedule, read above, was complete before they began
  QueryCopies<Tile> query_copies;
  query_copies.load(call, task, kv_head);
  REPRISE_UNROLL
  for (int tile = 0; tile < kStarted; ++tile) {
    if (tile < copies.tiles) copies.start(tile, places[tile]);
    copy_async_commit();
  }
  const Places next{places[kStarted], places[kStarted + 1]};
  auto* const queries = copies.stage_of(Tile::kStages - 1);  // a stage that is not being filled
  query_copies.store(call, task, queries);
  const ThreadLane lanes[2] = {
      thread_lane(call, task, kv_head, 16 * lane_warp + g),
      thread_lane(call, task, kv_head, 16 * lane_warp + g + 8),
  };
  WarpState<Tile> state;
  begin_state<Tile>(state);
  __syncthreads();
  load_queries<Tile>(state, queries, 16 * lane_warp);
  compute_tiles<Tile>(call, task, copies, next, key_warp, lanes, state);

  if constexpr (Tile::kKeyWarps == 1) {
    store_lanes<Tile>(call, task, lanes, results_of<Tile>(task, state));
  } else {
    static_assert(sizeof(KeyWarpSums<Tile>) <= Tile::kSharedBytes);
    auto& sums = *reinterpret_cast<KeyWarpSums<Tile>*>(copies.ring);
    __syncthreads();  // no warp reads the ring any more, and the last wait saw all copies arrive
    leave_sums<Tile>(lanes, key_warp, state, sums);
    __syncthreads();
    merge_sums<Tile>(call, task, kv_head, sums);
  }
  if (call.arrivals != nullptr) merge_finished_rows<Tile>(call);
}

// On architectures other than sm_90a the kernels that need sm_90a are empty and never launched.
template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    attention_kernel(const __grid_constant__ CallOf<Tile> call) {
  if constexpr (!Tile::kByWarpgroups) {
    attention_block<Tile>(call);
  } else if constexpr (kHasWarpgroups) {
    attention_by_warpgroups<Tile>(call);
  }
}

}  // namespace reprise::kernels::cuda
