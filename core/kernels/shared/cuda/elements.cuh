// Tensor elements in kernels: CUDA's types for ours, and conversion through f32.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "core/base/dtype.h"

namespace reprise::kernels::cuda {

// Rounds to nearest even; NaN stays NaN.
template <typename T>
__device__ __forceinline__ T rounded_to(float value) {
  return static_cast<T>(value);
}

// Calls fn(T{}) with the device type of `dtype`.
template <typename Fn>
decltype(auto) visit_device_dtype(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kBF16:
      return fn(__nv_bfloat16{});
    case DType::kF16:
      return fn(__half{});
    case DType::kF32:
      break;
  }
  return fn(float{});
}

// Number of blocks of `threads` threads that give each of `items` items a thread.
inline unsigned blocks_for(int64_t items, int threads) {
  return static_cast<unsigned>((items + threads - 1) / threads);
}

// Index of this thread's item in a grid of blocks_for() blocks.
__device__ __forceinline__ int64_t item_index() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

}  // namespace reprise::kernels::cuda
