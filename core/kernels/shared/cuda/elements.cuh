// Tensor elements in kernels: CUDA's types for each DType, and conversion through f32.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>

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

// kCount neighbouring elements, read and written by accesses of at most 16 bytes. Their address is
// a multiple of their size, or of 16 bytes if they are larger.
template <typename T, int kCount>
struct alignas(sizeof(T) * kCount < 16 ? sizeof(T) * kCount : 16) Elements {
  T of[kCount];
};
template <int kCount, typename T>
__device__ __forceinline__ Elements<T, kCount> load_elements(const T* from) {
  return *reinterpret_cast<const Elements<T, kCount>*>(from);
}
template <int kCount, typename T>
__device__ __forceinline__ void store_elements(T* to, const Elements<T, kCount>& elements) {
  *reinterpret_cast<Elements<T, kCount>*>(to) = elements;
}
// True if arrays at `addresses` can be read and written `count` elements at a time, also at any sum
// of multiples of `distances` (in elements) behind these addresses.
inline bool allows_elements(int64_t count, std::initializer_list<const void*> addresses,
                            std::initializer_list<int64_t> distances) {
  return std::all_of(addresses.begin(), addresses.end(),
                     [](const void* at) { return reinterpret_cast<uintptr_t>(at) % 16 == 0; }) &&
         std::all_of(distances.begin(), distances.end(),
                     [&](int64_t distance) { return distance % count == 0; });
}

// Number of blocks of `threads` threads that give each of `items` items a thread.
inline unsigned blocks_for(int64_t items, int threads) {
  return static_cast<unsigned>((items + threads - 1) / threads);
}

// A grid for `rows` rows of `items` items each: blocks_for() blocks for a row, and at most as many
// rows as a grid may have. A kernel with this grid loops over rows blockIdx.y, blockIdx.y +
// gridDim.y, ...
inline dim3 grid_of_rows(int64_t rows, int64_t items, int threads) {
  constexpr int64_t kMostRows = 65535;
  return dim3(blocks_for(items, threads), static_cast<unsigned>(std::min(rows, kMostRows)));
}

// Index of this thread's item in a grid of blocks_for() blocks.
__device__ __forceinline__ int64_t item_index() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

}  // namespace reprise::kernels::cuda
