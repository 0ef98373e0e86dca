// The attention kernel: one source for few rows over long segments (decode), for many rows over a
// shared segment, and for prefill.
//
// Tasks of each tile (core/kernels/attention/cuda/tiles.h chooses by operations and bytes):
//   16 lanes   private and paged segments in decode: a row's query heads of one kv head fill a
//              product's 16 rows. Memory is the limit, so four warps take different keys of each
//              tile, two or three tiles are being copied, and long segments are cut into parts.
//   64 lanes   shared segments [ChunkAttention's chunks, RelayAttention's system segment] with the
//              rows of a batch, and the uncached tokens of short prompts: keys are read once for 64
//              lanes, and the products cost less than the bytes.
//   128 lanes  prefill and large batches: each key in shared memory serves 128 lanes. The limit is
//              the products or the reads of shared memory: eight warps of 16 lanes each read the
//              whole tile, 9 * 4 K d bytes; A100 multiplies as fast as that, H100 twice as fast. So
//              sm_90a also has a shape by_warpgroups: wgmma reads a tile once for 64 lanes,
//              3 * 4 K d bytes. It is not used until a device shows that it pays.
//
// A block computes one task and one kv head:
//   ring       keys and values of the next stages - 1 tiles are copied (cp.async) while one is
//              computed. One barrier a tile tells that its bytes have arrived and that the stage to
//              be filled next is no longer read.
//   scores     S = q k^T by mma.sync m16n8k16, operands by ldmatrix, sums in f32. The queries stay
//              in registers as fragments.
//   softmax    online, base 2: m grows, older sums are scaled by 2^(m_old - m_new). Scores are
//              multiplied by scale * log2(e) and rounded before m is subtracted: a fused
//              2^(s * scale - m) would keep the rounding error of m * scale, which for scores of
//              10^9 is more than 2^60.
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

__device__ __forceinline__ void store_pair(void* data, DType dtype, int64_t element, float a,
                                           float b) {
  switch (dtype) {
    case DType::kF32:
      *reinterpret_cast<float2*>(static_cast<float*>(data) + element) = make_float2(a, b);
      break;
    case DType::kBF16:
      *reinterpret_cast<uint32_t*>(static_cast<__nv_bfloat16*>(data) + element) =
          pack_pair<__nv_bfloat16>(a, b);
      break;
    case DType::kF16:
      *reinterpret_cast<uint32_t*>(static_cast<__half*>(data) + element) = pack_pair<__half>(a, b);
      break;
  }
}

// The factor of a lane's sums when its task finishes rows. Computed once a lane, because the
// compiler would divide for each column.
__device__ __forceinline__ float finishing_factor(const AttentionTask& task, float n) {
  if (task.is_alone == 0 || n == 0.0f) return 0.0f;  // partial sums are not scaled
  return 1.0f / n;                                   // NaN is not 0, so it stays NaN
}

// Stores columns `column` and `column` + 1 of a lane whose sums are complete.
__device__ __forceinline__ void store_columns(const AttentionCall& call, const AttentionTask& task,
                                              const LaneOutput& to, int column, float a, float b,
                                              float factor) {
  if (task.is_alone != 0) {
    store_pair(call.out, call.out_dtype, to.element + column, a * factor, b * factor);
  } else {
    store_pair(call.partial_o, DType::kF32, to.element + column, a, b);
  }
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
    const float factor = finishing_factor(task, n);
    REPRISE_UNROLL
    for (int d = 0; d < Tile::kHeadDim / 8; ++d)
      store_columns(call, task, to, 8 * d + 2 * t, state.o[d][2 * i], state.o[d][2 * i + 1],
                    factor);
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
  const int group = call.heads / call.kv_heads;
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
    const LaneOutput to = lane_output<Tile>(call, task, (task.first_lane + lane) / group,
                                            kv_head * group + (task.first_lane + lane) % group);
    store_columns(call, task, to, column, a, b, finishing_factor(task, n));
    if (column == 0) store_sums(call, task, to, m, n);
  }
}

// Grid: a block for each task of call.tasks and kv head, kv heads fastest because a paged block's
// heads follow one another in memory. Block: Tile::kThreads. Dynamic shared memory:
// Tile::kSharedBytes.
template <class Tile>
__device__ __forceinline__ void attention_block(const AttentionCall& call) {
  using T = typename Tile::T;
  T* const ring = dynamic_shared<T>();
  const int block = static_cast<int>(blockIdx.x);
  const AttentionTask task = call.tasks[block / call.kv_heads];
  if (task.lanes == 0) return;
  const int kv_head = block % call.kv_heads;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane_warp = warp % Tile::kLaneWarps, key_warp = warp / Tile::kLaneWarps;
  const int g = static_cast<int>(threadIdx.x) % kWarp / 4;

  const DeviceCache cache = call.caches[task.cache];
  const int64_t base = call.layer * cache.layer_stride + kv_head * cache.head_stride;
  const T* const keys = static_cast<const T*>(cache.keys) + base;
  const T* const values = static_cast<const T*>(cache.values) + base;
  const int num_keys = max(0, task.end_key - task.first_key);
  const int tiles = (num_keys + Tile::kKeys - 1) / Tile::kKeys;
  const auto stage_of = [&](int tile) {
    return ring + tile % Tile::kStages * Tile::kStageElements;
  };
  const auto begin_tile = [&](int tile) {  // an empty group for each missing tile
    if (tile < tiles)
      copy_keys<Tile>(call, task, keys, values, task.first_key + tile * Tile::kKeys,
                      stage_of(tile));
    copy_async_commit();
  };

  for (int tile = 0; tile < Tile::kStages - 1; ++tile) begin_tile(tile);
  T* const queries = stage_of(Tile::kStages - 1);  // the only stage that is not being filled
  copy_queries<Tile>(call, task, kv_head, queries);
  const ThreadLane lanes[2] = {
      thread_lane(call, task, kv_head, 16 * lane_warp + g),
      thread_lane(call, task, kv_head, 16 * lane_warp + g + 8),
  };
  __syncthreads();
  WarpState<Tile> state;
  begin_state<Tile>(state, queries, 16 * lane_warp);

  for (int tile = 0; tile < tiles; ++tile) {
    copy_async_wait<Tile::kStages - 2>();
    if constexpr (Tile::kByWarpgroups) fence_async_proxy();
    __syncthreads();
    begin_tile(tile + Tile::kStages - 1);
    const int first = key_warp * Tile::kWarpKeys;                      // within the tile
    const T* const tile_keys = stage_of(tile) + first * Tile::kPitch;  // warpgroups: 0
    WarpScores<Tile> scores;
    multiply_keys<Tile>(state, tile_keys, scores);
    finish_scores<Tile>(call, task, lanes, task.first_key + tile * Tile::kKeys + first, scores);
    weigh_scores<Tile>(state, scores);
    multiply_values<Tile>(state, scores, tile_keys + Tile::kTileElements);
  }

  if constexpr (Tile::kKeyWarps == 1) {
    store_lanes<Tile>(call, task, lanes, state);
  } else {
    static_assert(sizeof(KeyWarpSums<Tile>) <= Tile::kSharedBytes);
    auto& sums = *reinterpret_cast<KeyWarpSums<Tile>*>(ring);
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
