// Starts the compiled attention kernel that a launch of the schedule names. One source file for
// each cache dtype includes it, so that the kernels of the dtypes compile in parallel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/constant.h"
#include "core/kernels/attention/cuda/attention.cuh"
#include "core/kernels/attention/cuda/attention_kernel.cuh"

namespace reprise::kernels::cuda {
namespace detail {

template <size_t... kIndices, typename Use>
void with_head_dim(int head_dim, std::index_sequence<kIndices...>, Use&& use) {
  with_constant<kHeadDims[kIndices]...>(head_dim, std::forward<Use>(use));
}

template <size_t... kIndices, typename Use>
void with_shape(int shape, std::index_sequence<kIndices...>, Use&& use) {
  with_constant<static_cast<int>(kIndices)...>(shape, std::forward<Use>(use));
}

}  // namespace detail

// T is the element type of the caches; `sms` is the device's number of SMs.
template <typename T>
void launch_tiles(const AttentionCall& call, const StepMaps& maps, const TileLaunch& tiles,
                  int64_t head_dim, int32_t sms, cudaStream_t stream) {
  require_head_dim(head_dim);
  AttentionCall of_launch = call;
  of_launch.tasks += tiles.first_task;
  of_launch.work = (tiles.end_task - tiles.first_task) * call.kv_heads;
  constexpr auto kDimIndices = std::make_index_sequence<kHeadDims.size()>();
  constexpr auto kShapeIndices = std::make_index_sequence<kTileShapes.size()>();
  detail::with_head_dim(static_cast<int>(head_dim), kDimIndices, [&](auto dim) {
    detail::with_shape(tiles.shape, kShapeIndices, [&](auto index) {
      constexpr int kDim = decltype(dim)::value, kIndex = decltype(index)::value;
      constexpr TileShape kShape = kTileShapes[kIndex];
      require_compiled(kShape, kDim, kBuiltForWarpgroups);
      if constexpr (kShape.has_head_dim(kDim)) {
        using Tile = AttentionTile<T, kDim, kIndex>;
        using WithoutBias = AttentionTile<T, kDim, kIndex, /*kMayHaveBias=*/!kShape.by_warpgroups>;
        const CallOf<Tile> parameter = [&]() -> CallOf<Tile> {
          if constexpr (Tile::kByTensorMaps)
            return {of_launch, maps};
          else
            return of_launch;
        }();
        launch(
            {.name = "attention",
             .grid = dim3(static_cast<unsigned>(kShape.by_warpgroups ? std::min(of_launch.work, sms)
                                                                     : of_launch.work)),
             .block = dim3(Tile::kThreads),
             .shared_bytes = Tile::kSharedBytes,
             .begins_early = true},
            stream,
            call.alibi_slopes == nullptr && call.scale_log2 > 0.0f ? attention_kernel<WithoutBias>
                                                                   : attention_kernel<Tile>,
            parameter);
      }
    });
  });
}

}  // namespace reprise::kernels::cuda
