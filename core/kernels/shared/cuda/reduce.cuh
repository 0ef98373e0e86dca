// Sums over the threads of a block, in a fixed order.
#pragma once

#include <cuda_runtime.h>

#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"

namespace reprise::kernels::cuda {

// Sum over all lanes, returned to all lanes.
__device__ __forceinline__ float warp_sum(float value) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2)
    value += __shfl_xor_sync(kAllLanes, value, lanes);
  return value;
}

// Largest value of all lanes, returned to all lanes; NaN is ignored unless all are NaN.
__device__ __forceinline__ float warp_max(float value) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2)
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, lanes));
  return value;
}

// Sum over all threads, returned to all threads. All threads of the block must call it, and the
// block must have whole warps. Two calls in one kernel share 32 floats of shared memory, hence the
// barrier before they are written.
__device__ __forceinline__ float block_sum(float value) {
  REPRISE_SHARED(float[kWarp], sums);
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  value = warp_sum(value);
  __syncthreads();
  if (lane == 0) sums[warp] = value;
  __syncthreads();
  return warp_sum(lane < blockDim.x / kWarp ? sums[lane] : 0.0f);
}

}  // namespace reprise::kernels::cuda
