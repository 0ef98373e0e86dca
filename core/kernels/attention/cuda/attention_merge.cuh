// Merges partial results inside the attention kernel: the warp that counts the last part of a row
// and head merges them, so that no other kernel has to be launched for it.
#pragma once

#include <cstdint>

#include "core/kernels/attention/cuda/attention_tile.cuh"
#include "core/kernels/attention/cuda/merge_row.cuh"

namespace reprise::kernels::cuda {

// Counts the parts of lanes [first_lane, end_lane) of a tile, whose partial results are stored, and
// merges the lanes whose other parts were counted before. `warp` is the caller's number among
// kWarps warps that share these lanes; all of them call it. A barrier between these warps must
// order it behind the stores. The task must have partial results (AttentionTask::first_merged).
//
// The last count sets the counter back to 0, so the next launch finds it as this one did. The sums
// do not depend on which part comes last, because merge_row() reads all parts in their order.
template <class Tile, int kWarps>
__device__ __forceinline__ void merge_finished_lanes(const AttentionCall& call,
                                                     const AttentionTask& task, int kv_head,
                                                     int first_lane, int end_lane, int warp) {
  static_assert(Tile::kLanes <= kWarps * kWarp);
  const MergeCall merge{.begin = call.merge_begin,
                        .entries = call.merge_entries,
                        .o = call.partial_o,
                        .m = call.partial_m,
                        .n = call.partial_n,
                        .heads = call.heads,
                        .head_dim = Tile::kHeadDim};
  const auto lane_of = [&](int thread) { return first_lane + thread * kWarps + warp; };
  const int own_lane = lane_of(static_cast<int>(threadIdx.x) % kWarp);
  bool is_last = false;
  if (own_lane < end_lane) {
    const RowHead of = row_head(call, task, kv_head, own_lane);
    const int64_t merged = task.first_merged + of.row;
    const auto last = static_cast<unsigned>(merge.begin[merged + 1] - merge.begin[merged]) - 1;
    __threadfence();  // the stores come before the count, for all blocks
    is_last = atomicInc(call.arrivals + merged * call.heads + of.head, last) == last;
    if (is_last) __threadfence();  // the stores of the parts counted before come before the loads
  }
  unsigned finished = __ballot_sync(kAllLanes, is_last);
  __syncwarp();  // the loads of other lanes of the warp come after that fence, too
  for (; finished != 0; finished &= finished - 1) {
    const RowHead of =
        row_head(call, task, kv_head, lane_of(__ffs(static_cast<int>(finished)) - 1));
    const int64_t merged = task.first_merged + of.row;
    const int64_t row = task.first_row + of.row;
    const auto store = [&](int64_t column, const float(&values)[4]) {
      with_dtype(call.out_dtype, [&](auto zero) {
        using Out = decltype(zero);
        store_merged(
            static_cast<Out*>(call.out) + (row * call.heads + of.head) * Tile::kHeadDim + column,
            values);
      });
    };
    merge_row<4>(merge, merge.begin[merged], merge.begin[merged + 1], of.head, store);
  }
}

}  // namespace reprise::kernels::cuda
