// Launches kernels and gives them shared memory, both under nvcc and under the emulator of
// tests/cuda_on_cpu (REPRISE_CUDA_ON_CPU).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/error.h"
#include "core/device/cuda/check.h"

#ifdef REPRISE_CUDA_ON_CPU
#include <cuda_on_cpu.h>
#endif

namespace reprise::kernels::cuda {

// The shape of a launch, and the kernel's name for error messages.
struct LaunchShape {
  const char* name = "";
  dim3 grid;                // blocks; an empty grid runs nothing
  dim3 block;               // threads
  size_t shared_bytes = 0;  // dynamic shared memory of a block, see dynamic_shared()
  // True: blocks may start while the previous kernel in the stream still runs, once all blocks of
  // that kernel have called let_next_kernel_begin() or ended. This kernel must then call
  // await_previous_kernels() before it touches memory that another kernel writes or reads.
  bool begins_early = false;
};

using reprise::cuda::check_cuda;

namespace detail {

inline void check_launch(cudaError_t code, const LaunchShape& shape) {
  if (code == cudaSuccess) return;
  reprise::cuda::throw_failure(
      code, fmt::format("the CUDA kernel {} could not start with a grid of {} x {} x {} blocks, "
                        "{} x {} x {} threads each, and {} bytes of dynamic shared memory: {} ({})",
                        shape.name, shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x,
                        shape.block.y, shape.block.z, shape.shared_bytes, cudaGetErrorString(code),
                        cudaGetErrorName(code)));
}

#ifndef REPRISE_CUDA_ON_CPU
// True if the kernel's code was compiled for compute capability 9.0 or later. Other code has no
// await_previous_kernels(), even if it is PTX that a later device runs. All kernels are compiled
// for the same capabilities, so only the first one is asked.
inline bool kernels_may_overlap(const void* kernel, const LaunchShape& shape) {
  static const bool may = [&] {
    cudaFuncAttributes attributes{};
    check_launch(cudaFuncGetAttributes(&attributes, kernel), shape);
    return attributes.ptxVersion >= 90;  // of the PTX that the code was made from
  }();
  return may;
}
#endif

}  // namespace detail

// Runs kernel<<<grid, block, shared_bytes, stream>>>(args...); arguments are converted to the
// kernel's parameters and copied. Throws Error naming kernel and shape if it cannot start; a fault
// inside the kernel is reported at the stream's next synchronization. Under the emulator the grid
// has run when launch() returns, unless the stream is recording a graph; a fault inside the kernel
// then throws cuda_on_cpu::Fault.
template <typename... Parameters, typename... Arguments>
void launch(const LaunchShape& shape, cudaStream_t stream, void (*kernel)(Parameters...),
            Arguments&&... args) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments));
  if (shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0) return;
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::launch({shape.name, shape.grid, shape.block, shape.shared_bytes, shape.begins_early},
                      stream, kernel, std::forward<Arguments>(args)...);
#else
  // Bytes of shared memory that a kernel may use without a request, on every architecture.
  constexpr size_t kWithoutAsking = 48 << 10;
  if (shape.shared_bytes > kWithoutAsking)
    detail::check_launch(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                              cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              static_cast<int>(shape.shared_bytes)),
                         shape);
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  if (shape.begins_early &&
      detail::kernels_may_overlap(reinterpret_cast<const void*>(kernel), shape)) {
    config.attrs = &early;
    config.numAttrs = 1;
  }
  detail::check_launch(
      cudaLaunchKernelEx(&config, kernel,
                         static_cast<Parameters>(std::forward<Arguments>(args))...),
      shape);
#endif
}

// The block's dynamic shared memory (LaunchShape::shared_bytes bytes), aligned to 1024 bytes.
template <typename T>
__device__ __forceinline__ T* dynamic_shared() {
#ifdef REPRISE_CUDA_ON_CPU
  return static_cast<T*>(cuda_on_cpu::dynamic_shared());
#else
  extern __shared__ __align__(1024) unsigned char reprise_dynamic_shared[];
  return reinterpret_cast<T*>(reprise_dynamic_shared);
#endif
}

template <typename T>
struct SharedType {
  using type = T;
};

}  // namespace reprise::kernels::cuda

// Declares, in a kernel, a variable in the block's shared memory, such as REPRISE_SHARED(float[32],
// sums). Its value is undefined until it is written.
#ifdef REPRISE_CUDA_ON_CPU
#define REPRISE_SHARED(type_, name)                                                             \
  static constexpr char name##_key = 0;                                                         \
  auto& name =                                                                                  \
      cuda_on_cpu::shared_variable<typename ::reprise::kernels::cuda::SharedType<type_>::type>( \
          &name##_key)
#else
#define REPRISE_SHARED(type_, name) \
  __shared__ typename ::reprise::kernels::cuda::SharedType<type_>::type name
#endif
