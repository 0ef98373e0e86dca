// Operations that move rows on the device: selecting, combining and rounding.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/base/dtype.h"

namespace reprise::kernels::cuda {

// A kernels::GatherRowsCall with device pointers. row_bytes must be even.
struct GatherRows {
  const void* in = nullptr;
  void* out = nullptr;  // may equal `in` if `rows` ascends
  int64_t row_bytes = 0;
  const int32_t* rows = nullptr;  // [count]
  int64_t count = 0;
};
void gather_rows(const GatherRows& call, cudaStream_t stream);

// A kernels::CombineRowsCall with device pointers.
struct CombineRows {
  const float* in = nullptr;        // [any, cols]
  const int32_t* places = nullptr;  // [rows, per_row]
  const float* weights = nullptr;   // [rows, per_row]
  float* out = nullptr;             // [rows, cols]
  int64_t rows = 0, per_row = 0, cols = 0;
};
void combine_rows(const CombineRows& call, cudaStream_t stream);

// out [count] = in [count] f32, rounded to `dtype`.
struct NarrowValues {
  const float* in = nullptr;
  void* out = nullptr;
  DType dtype = DType::kBF16;
  int64_t count = 0;
};
void narrow_values(const NarrowValues& call, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
