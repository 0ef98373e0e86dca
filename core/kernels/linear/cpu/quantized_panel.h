// One panel of 64 outputs whose weights are codes, and the kernels that read it.
#pragma once

#include <cstdint>

#include "core/base/weight_format.h"
#include "core/kernels/linear/cpu/linear_task.h"
#include "core/kernels/linear/linear.h"

namespace reprise::kernels::cpu {

// Inputs are taken in steps of 8, a panel in whole units of 4 steps; beyond the matrix' inputs the
// codes are 0.
inline constexpr int64_t kStepInputs = 8, kUnitSteps = 4;
// Groups of a panel whose 4 * 64 scales are held together, in nf4-double.
inline constexpr int64_t kScaleBlockGroups = 4;
// How far ahead of use codes are fetched: the hardware's own fetching ends with a page of 4 KiB.
inline constexpr int64_t kFetchBytes = 4096;

struct QuantizedPanel {
  WeightFormat format = WeightFormat::kInt8;
  int64_t steps = 0;
  int64_t group_steps = 0;  // that share a scale; the last group may have fewer
  // int8: int8_t [steps][8][64]. Four bits: uint32_t [steps][64], the code of input i of a step in
  // the four bits from 16 (i % 2) + 4 (i / 2) on. So each half word has one input of two that
  // follow one another, as the bf16 dot product takes them, four pairs by shifts of 4.
  const void* codes = nullptr;
  const float* scales = nullptr;    // [groups][64]; null in nf4-double
  const float* minimums = nullptr;  // [groups][64] of int4
  // nf4-double: scale = scale_mean + scale_steps[group / 4] * scale_codes[group][64]
  const int8_t* scale_codes = nullptr;
  const float* scale_steps = nullptr;
  float scale_mean = 0.0f;

  [[nodiscard]] int64_t groups() const { return (steps + group_steps - 1) / group_steps; }
};

// Input rows times a panel. Of `linear`, what says where inputs and outputs are: x is f32 [rows][8
// steps], or bf16 for the kernel that takes it, zero beyond the matrix' inputs.
struct QuantizedTask {
  QuantizedPanel panel;
  LinearTask linear;
  const float* x_sums = nullptr;  // int4: [rows][groups]  of the inputs of each group
};

// f32 arithmetic, inputs in f32, up to LinearCall::kStreamedRows rows.
void quantized_panel_f32(const QuantizedTask& task, Isa isa);
// AVX512-BF16, inputs in bf16, up to kManyLinearRows rows.
void quantized_panel_avx512_bf16(const QuantizedTask& task);

// int8 [steps][8][64] of a panel as bf16 [steps][4][64][2], not yet scaled; what
// follows is fetched. Needs AVX512-VBMI.
void decode_bytes_avx512_vbmi(const void* codes, int64_t steps, void* out);

// The panel as plain weights, the first `inputs` of it, a multiple of 8: [inputs][64] f32, or
// [inputs / 2][64][2] bf16, rounded to nearest.
void expand_panel(const QuantizedPanel& panel, int64_t inputs, DType dtype, void* out, Isa isa);

}  // namespace reprise::kernels::cpu
