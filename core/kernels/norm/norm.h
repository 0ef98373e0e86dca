// RMSNorm and LayerNorm of rows.
#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "core/device/context.h"

namespace reprise::kernels {

//   RMSNorm    y = x / sqrt(mean(x^2) + epsilon) * weight
//   LayerNorm  y = (x - mean(x)) / sqrt(var(x) + epsilon) * weight + bias
//   x       [rows, cols] f32, row-major
//   weight  [cols] f32
//   bias    [cols] f32, or null
//   out     [rows, cols] f32 or bf16; may alias x if f32
// The variance is computed in a second pass, from x - mean(x), so that a large mean causes no
// cancellation. Sums are f32, one for each vector lane.
struct NormCall {
  bool is_rms = true;
  float epsilon = 1e-5f;
  const float* weight = nullptr;
  const float* bias = nullptr;
  const float* x = nullptr;
  void* out = nullptr;
  DType out_dtype = DType::kF32;
  int64_t rows = 0, cols = 0;

  void run(const Context& context) const;
};

}  // namespace reprise::kernels
