// One panel of 64 outputs against some input rows: the unit of work of the linear kernels.
#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "core/device/cpu.h"

namespace reprise::kernels::cpu {

// Input rows whose sums stay in registers: 6 * 4 accumulators fill 24 of 32. The most rows of a
// task but for linear_rows_avx512_bf16().
inline constexpr int kLinearRows = 6;
inline constexpr int kManyLinearRows = 64;
// Of a panel's depth, what linear_rows_avx512_bf16() takes at once: 24 KiB of weights.
inline constexpr int64_t kLinearBlockWords = 96;

struct LinearTask {
  const void* panel = nullptr;  // [words][64] f32, or [words][64][2] bf16
  DType dtype = DType::kF32;
  int64_t words = 0;
  const void* x = nullptr;      // [rows][words] f32, or [rows][words][2] bf16; zero beyond cols
  int rows = 0;                 // <= kLinearRows, or kManyLinearRows
  const float* bias = nullptr;  // of the first wanted output, or null
  int skipped = 0;              // outputs of this panel before the wanted ones
  int outputs = 0;              // wanted; skipped + outputs <= 64
  void* out = nullptr;          // row 0, the first wanted output
  DType out_dtype = DType::kF32;
  int64_t out_stride = 0;  // elements between rows
  bool accumulate = false;
  // The panel that this thread is likely to take next, whose begin linear_rows_avx512_bf16()
  // fetches; the same one where there is none.
  const void* next_panel = nullptr;
};

void linear_panel_avx512_bf16(const LinearTask& task);   // bf16 weights, AVX512-BF16
void linear_rows_avx512_bf16(const LinearTask& task);    // likewise, many rows
void linear_panel_f32(const LinearTask& task, Isa isa);  // f32 arithmetic, any weights

// Adds bias, accumulates and writes the wanted ones of 64 sums of one row.
inline void store_outputs(const LinearTask& task, int row, const float* sums) {
  const int64_t first = row * task.out_stride;
  sums += task.skipped;
  for (int i = 0; i < task.outputs; ++i) {
    float value = sums[i] + (task.bias != nullptr ? task.bias[i] : 0.0f);
    if (task.out_dtype == DType::kF32) {
      float* out = static_cast<float*>(task.out) + first + i;
      *out = task.accumulate ? *out + value : value;
    } else {
      static_cast<bf16*>(task.out)[first + i] = bf16(value);
    }
  }
}

}  // namespace reprise::kernels::cpu
