// Looks up rows of a table by token id, on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/base/dtype.h"

namespace reprise::kernels::cuda {

// kernels::EmbeddingCall with device pointers:
//   out[r] = table[ids[r]], or out[r] += table[ids[r]] with `accumulate`
// An id outside [0, entries) makes its row NaN, because a kernel cannot throw.
struct Embedding {
  const void* table = nullptr;  // [entries, cols] of dtype
  DType dtype = DType::kF32;
  int64_t entries = 0, cols = 0;
  const int32_t* ids = nullptr;  // [rows]
  int64_t rows = 0;
  float* out = nullptr;  // [rows, cols]
  bool accumulate = false;
};
void embedding(const Embedding& call, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
