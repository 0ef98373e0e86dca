// A panel of 64 outputs stored as codes, and the kernels that read it.
#pragma once

#include <cstdint>

#include "core/base/weight_format.h"
#include "core/kernels/linear/cpu/linear_task.h"
#include "core/kernels/linear/linear.h"

namespace reprise::kernels::cpu {

// Kernels process inputs in steps of 8. A panel consists of whole units of 4 steps; codes beyond
// the matrix' inputs are 0.
inline constexpr int64_t kStepInputs = 8, kUnitSteps = 4;
// Prefetch distance, in bytes, in products of many rows: one page. Arithmetic limits such products,
// so a page ahead is far enough.
inline constexpr int64_t kFetchBytes = 4096;

struct QuantizedPanel {
  WeightFormat format = WeightFormat::kInt8;
  int64_t steps = 0;
  int64_t group_steps = 0;  // steps that share a scale; the last group may have fewer
  // int8: int8_t [steps][8][64]. Four-bit formats: uint32_t [steps][64]; the code of input i of a
  // step is in the four bits from 16 (i % 2) + 4 (i / 2) on. So the low bits of the two half
  // words hold two consecutive inputs, as the bf16 dot product wants them, and each shift by 4 bits
  // brings the next pair there.
  const void* codes = nullptr;
  const float* scales = nullptr;    // [groups][64]; null in nf4-double
  const float* minimums = nullptr;  // [groups][64], int4 only
  // nf4-double: scale = scale_mean + scale_steps[group / 4] * scale_codes[group][64]
  const int8_t* scale_codes = nullptr;
  const float* scale_steps = nullptr;
  float scale_mean = 0.0f;

  [[nodiscard]] int64_t groups() const { return (steps + group_steps - 1) / group_steps; }
};

// The product of input rows and a panel of codes. `linear` has the addresses of inputs and outputs.
// linear.x is [rows][8 * steps] in f32, or in bf16 for the bf16 kernel, and zero beyond the matrix'
// inputs.
struct QuantizedTask {
  QuantizedPanel panel;
  LinearTask linear;
  const float* x_sums = nullptr;  // int4: [rows][groups]  sums of each group's inputs
  // Read only by the bf16 kernel. True: even a few rows are multiplied as many rows are: with
  // weights that are first decoded to a buffer in L1. A row's bits then do not depend on the number
  // of rows.
  bool is_staged = false;
};

// Most rows of a task of quantized_panel_avx512_bf16().
inline constexpr int kMostCodedRows = 64;

// f32 arithmetic, f32 inputs, up to LinearCall::kStreamedRows rows.
void quantized_panel_f32(const QuantizedTask& task, Isa isa);
// AVX512-BF16, bf16 inputs, up to kMostCodedRows rows.
void quantized_panel_avx512_bf16(const QuantizedTask& task);

// Converts a panel's int8 codes [steps][8][64] to unscaled bf16 [steps][4][64][2], and prefetches
// the codes that follow. Needs AVX512-VBMI.
void decode_bytes_avx512_vbmi(const void* codes, int64_t steps, void* out);

// Expands the first `inputs` inputs of a panel (a multiple of 8) to plain weights: [inputs][64]
// f32, or [inputs / 2][64][2] bf16, rounded to nearest.
void expand_panel(const QuantizedPanel& panel, int64_t inputs, DType dtype, void* out, Isa isa);

}  // namespace reprise::kernels::cpu
