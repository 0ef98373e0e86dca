// How the tiny kernels of faulty_kernels.h are launched.
#pragma once

#include <vector>

#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"
#include "tests/cuda_on_cpu/device_array.h"

namespace reprise::kernels::cuda::faulty {

using cuda_on_cpu::DeviceArray;

inline constexpr int kFloats = 64;  // size of the buffer that a kernel gets; all values are 1

using Kernel = void (*)(float* data, int n);

// Runs the kernel with n = 32. As n is an argument, compilers know no index.
template <Kernel kKernel, unsigned kThreads, unsigned kSharedFloats = 64, unsigned kBlocks = 1>
void run() {
  const DeviceArray<float> data(std::vector<float>(kFloats, 1.0f));
  launch({.name = "tiny",
          .grid = dim3(kBlocks),
          .block = dim3(kThreads),
          .shared_bytes = kSharedFloats * sizeof(float)},
         nullptr, kKernel, data.data(), 32);
}

}  // namespace reprise::kernels::cuda::faulty
