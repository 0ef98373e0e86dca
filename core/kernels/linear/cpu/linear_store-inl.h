// Writes a row of a panel, for the AVX512-BF16 kernels. Include after `#pragma GCC target` has
// selected the instruction sets.
#pragma once

#include <immintrin.h>

#include <algorithm>

#include "core/kernels/linear/cpu/linear_task.h"

namespace reprise::kernels::cpu {
namespace {

// Does what store_outputs() does, 16 outputs at a time if the first wanted output is the panel's
// first. `sums` must be aligned.
inline void store_row(const LinearTask& task, int row, const float* sums) {
  if (task.skipped != 0) return store_outputs(task, row, sums);
  const int64_t first = row * task.out_stride;
  for (int c = 0; c * 16 < task.outputs; ++c) {
    const int lanes = std::min(16, task.outputs - c * 16);
    const auto wanted = static_cast<__mmask16>((1u << lanes) - 1);
    __m512 value = _mm512_load_ps(sums + c * 16);
    if (task.bias != nullptr)
      value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(wanted, task.bias + c * 16));
    if (task.out_dtype == DType::kF32) {
      float* out = static_cast<float*>(task.out) + first + c * 16;
      if (task.accumulate) value = _mm512_add_ps(_mm512_maskz_loadu_ps(wanted, out), value);
      _mm512_mask_storeu_ps(out, wanted, value);
    } else {
      bf16* out = static_cast<bf16*>(task.out) + first + c * 16;
      _mm256_mask_storeu_epi16(out, wanted, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(value)));
    }
  }
}

}  // namespace
}  // namespace reprise::kernels::cpu
