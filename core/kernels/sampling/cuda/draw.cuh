// Samples tokens from rows of logits on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/kernels/sampling/sampling.h"

namespace reprise::kernels::cuda {

// A kernels::SampleCall with device pointers.
struct DrawTokens {
  const float* logits = nullptr;  // [rows, vocab]
  int32_t vocab = 0;              // > 0
  const SampleRule* rules = nullptr;
  int64_t draws = 0;
  int32_t* tokens = nullptr;  // [draws]
};
void draw_tokens(const DrawTokens& call, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
