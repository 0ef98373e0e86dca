// Sums over the threads of a block, in a fixed order.
#pragma once

#include <cuda_runtime.h>

#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"

namespace reprise::kernels::cuda {

// Returns to every lane the sum over all lanes of the warp.
__device__ __forceinline__ float warp_sum(float value) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2)
    value += __shfl_xor_sync(kAllLanes, value, lanes);
  return value;
}

// Returns to every lane the largest value of all lanes of the warp. NaN is ignored unless all
// values are NaN.
__device__ __forceinline__ float warp_max(float value) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2)
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, lanes));
  return value;
}

// Returns to every thread the sum over all threads of the block. All threads of the block must call
// it, and the block must have whole warps. Several calls in one kernel share the same 32 floats of
// shared memory, so a barrier precedes the writes to them.
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
