// Weighted sums of values. The CPU applies an attention map row by row with them.
#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "core/device/cpu.h"

namespace reprise::kernels::cpu {

// sum += sum over t of weights[t] * values[t], in the order of t.
struct WeightedSum {
  const float* weights = nullptr;  // [tokens]
  const void* values = nullptr;    // [tokens, head_dim]
  DType dtype = DType::kF32;       // dtype of values
  int64_t tokens = 0, head_dim = 0;
  float* sum = nullptr;  // [head_dim]
};

void add_weighted(const WeightedSum& task, Isa isa);

}  // namespace reprise::kernels::cpu
