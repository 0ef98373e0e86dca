// Stands for CUDA's header of this name where kernels are compiled to run on the CPU.
#pragma once

#include "tests/cuda_on_cpu/device_functions.h"
#include "tests/cuda_on_cpu/runtime_api.h"
#include "tests/cuda_on_cpu/vector_types.h"

// A kernel is not inlined, so that its parameters lie in its thread's memory.
#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) alignas(bytes)
