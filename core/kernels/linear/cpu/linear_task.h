// The task that a linear kernel runs at once: one panel of 64 outputs times some input rows.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/base/dtype.h"
#include "core/device/cpu.h"
#include "core/device/fetch_setting.h"

namespace reprise::kernels::cpu {

// Most rows of a task of linear_panel_avx512_bf16(), which keeps all sums in registers: 6 rows of 4
// vectors use 24 of the 32 registers.
inline constexpr int kLinearRows = 6;
// Most rows of a task of linear_rows_avx512_bf16() (kMostRowsBF16) and of linear_panel_f32()
// (kMostRowsF32). Their sums take 64 and 32 KiB, which leaves most of an L2 to the panel and to the
// rows. With kMostRowsF32 rows, copying the panel takes only a few per cent of
// linear_panel_f32()'s time.
inline constexpr int kMostRowsBF16 = 256;
inline constexpr int kMostRowsF32 = 128;
// Most rows of a task of linear_amx(). The sums of that many rows take 64 KiB of the L2, besides
// the rows themselves.
inline constexpr int kMostTileRows = 256;
// Most rows of a product for which linear_rows_avx512_bf16() expects memory to be the limit.
inline constexpr int kBatchRows = 18;

struct LinearTask {
  const void* panel = nullptr;  // [words][64] f32, or [words][64][2] bf16
  DType dtype = DType::kF32;
  int64_t words = 0;
  // Length of a block in words: all rows are multiplied with a block before the next block is read,
  // so a block should fit in the L2. A multiple of 4. Read by linear_rows_avx512_bf16() (more than
  // kBatchRows rows) and by linear_panel_f32() (f32 weights on AVX-512). The default has 128 KiB,
  // an eighth of an L2 of 1 MiB; PanelRows sets it by the processor's own.
  int64_t block_words = 512;
  // [rows][inputs], zero beyond cols; a panel word of f32 has one input, a word of bf16 has two.
  // bf16 for the AVX512-BF16 kernels, f32 for linear_panel_f32(). For linear_amx(), x is in bf16
  // tiles [rows / 16][inputs / 32][16][32], zero beyond the rows.
  const void* x = nullptr;
  int rows = 0;                 // each kernel has its own upper limit, see below
  const float* bias = nullptr;  // bias of the first wanted output, or null
  int skipped = 0;              // outputs of this panel before the wanted ones
  int outputs = 0;              // number of wanted outputs; skipped + outputs <= 64
  void* out = nullptr;          // row 0, first wanted output
  DType out_dtype = DType::kF32;
  int64_t out_stride = 0;  // elements between rows
  bool accumulate = false;
  // The panel that this thread will probably take next, or this task's panel if there is no next
  // one. linear_rows_avx512_bf16(), linear_amx() and linear_panel_f32() prefetch from it.
  const void* next_panel = nullptr;
  WeightFetch fetch;
};

// Calls fn with the locality argument of __builtin_prefetch() as an integral constant: 3 to
// prefetch into L1, 2 into L2, and -1 if nothing is prefetched.
template <typename Fn>
void with_locality(const WeightFetch& fetch, Fn&& fn) {
  if (fetch.bytes == 0) {
    fn(std::integral_constant<int, -1>{});
  } else if (fetch.level == FetchSetting::Level::kL1) {
    fn(std::integral_constant<int, 3>{});
  } else {
    fn(std::integral_constant<int, 2>{});
  }
}

// Prefetches kLines lines from `address` on.
template <int kLocality, int64_t kLines>
[[gnu::always_inline]] inline void fetch_lines(const void* address) {
  if constexpr (kLocality >= 0) {
    const char* at = static_cast<const char*>(address);
#pragma GCC unroll 8
    for (int64_t line = 0; line < kLines; ++line)
      __builtin_prefetch(at + 64 * line, /*rw=*/0, kLocality);
  }
}

// For bf16 weights, with AVX512-BF16. linear_panel_avx512_bf16() takes up to kLinearRows rows,
// linear_rows_avx512_bf16() up to kMostRowsBF16.
void linear_panel_avx512_bf16(const LinearTask& task);
void linear_rows_avx512_bf16(const LinearTask& task);
// For bf16 weights, with AMX; takes up to kMostTileRows rows.
void linear_amx(const LinearTask& task);
// For any weights, in f32 arithmetic; takes up to kMostRowsF32 rows. With more than 12 rows the
// number of inputs must be a multiple of 4.
void linear_panel_f32(const LinearTask& task, Isa isa);

// Adds the bias to the wanted sums among a row's 64 sums, and writes these to the task's `out`;
// with `accumulate`, adds them to `out`.
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
