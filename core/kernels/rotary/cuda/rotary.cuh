// Rotary position embedding on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/kernels/rotary/rotary.h"

namespace reprise::kernels::cuda {

// Does what RotaryCall::run() does, on `stream`. The call's pointers are device addresses.
void rotary(const RotaryCall& call, cudaStream_t stream);

// Arguments of kernels::rotary_angles(), with device pointers.
struct RotaryAngles {
  const int32_t* positions = nullptr;        // [rows]
  const float* inverse_frequency = nullptr;  // [half]
  float factor = 1.0f;                       // multiplies cosines and sines
  float* cos = nullptr;                      // [rows, half], as is sin
  float* sin = nullptr;
  int64_t rows = 0, half = 0;
};
void rotary_angles(const RotaryAngles& angles, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
