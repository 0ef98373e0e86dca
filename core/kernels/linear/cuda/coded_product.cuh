// Products with a matrix that the device stores as codes, and the expansion of such a matrix to
// plain weights.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/base/weight_format.h"

namespace reprise::kernels::cuda {

// Four consecutive inputs are a quad, 8 quads a unit, 4 units a block of 128 inputs. A tensor core
// multiplies 16 inputs at once, and lane t of four has quad t of each 16. So the codes of a block
// are stored by lane: 4 lanes, 4 units each, the two quads of the unit that the lane has.
inline constexpr int64_t kQuadInputs = 4, kUnitInputs = 32, kBlockInputs = 128;

// A matrix of codes in device memory, output after output; each output has whole blocks. Codes
// beyond the matrix' inputs may be any.
struct DeviceCodes {
  WeightFormat format = WeightFormat::kInt8;
  int64_t rows = 0, cols = 0;       // outputs and inputs
  int64_t group_inputs = 0;         // inputs that share a scale: whole units, or `cols`
  const uint32_t* codes = nullptr;  // [rows][blocks][words_of_block()]
  // [rows][groups]; in int4 [rows][groups][2], scale and minimum; null in nf4-double
  const float* scales = nullptr;
  const int8_t* scale_codes = nullptr;  // [rows][groups], nf4-double: see QuantizedPanel
  const float* scale_steps = nullptr;   // [rows / 64][groups / 4], both rounded up
  float scale_mean = 0.0f;

  [[nodiscard]] __host__ __device__ int64_t blocks() const {
    return (cols + kBlockInputs - 1) / kBlockInputs;
  }
  [[nodiscard]] __host__ __device__ int64_t groups() const {
    return (cols + group_inputs - 1) / group_inputs;
  }
};

// 32-bit words of a block: four codes of int8 each, or eight of four bits.
__host__ __device__ constexpr int64_t words_of_block(WeightFormat format) {
  return format == WeightFormat::kInt8 ? 32 : 16;
}

// The place of a quad's four codes in a row.
struct QuadPlace {
  int64_t word;  // of the row
  int shift;     // of four-bit codes: code i begins at bit shift + 16 (i % 2) + 4 (i / 2)
};
__host__ __device__ constexpr QuadPlace place_of_quad(WeightFormat format, int64_t quad) {
  const int64_t block = quad / 32, unit = quad / 8 % 4, half = quad / 4 % 2, lane = quad % 4;
  if (format == WeightFormat::kInt8)
    return {block * words_of_block(format) + lane * 8 + unit * 2 + half, 0};
  return {block * words_of_block(format) + lane * 4 + unit, static_cast<int>(8 * half)};
}

// out [m, end - first] = x w^T + bias, for outputs [first, end), or out += without a bias:
// LinearCall with device pointers.
struct CodedProduct {
  DeviceCodes w;
  int64_t first = 0, end = 0;
  const void* x = nullptr;  // [m, w.cols] of `input`, aligned to 8 bytes
  DType input = DType::kBF16;
  int64_t m = 0;
  const float* bias = nullptr;
  void* out = nullptr;
  DType out_dtype = DType::kF32;
  bool accumulate = false;
};

// True if multiply_codes() takes the call's inputs: 16-bit, rows of whole quads.
bool multiplies_codes(const CodedProduct& call);
// Multiplies codes as they are read; f32 sums of exact products. NF4's quantiles are rounded to
// `input`. The bits of a row of x do not depend on the other rows.
void multiply_codes(const CodedProduct& call, cudaStream_t stream);

// out [end - first, cols] of `dtype` = the weights of outputs [first, end), rounded once.
struct Expansion {
  DeviceCodes w;
  int64_t first = 0, end = 0;
  void* out = nullptr;
  DType dtype = DType::kBF16;
};
void expand_codes(const Expansion& call, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
