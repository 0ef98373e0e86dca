// Products with a matrix that the device stores as codes, and the expansion of such a matrix to
// plain weights.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/base/weight_format.h"

namespace reprise::kernels::cuda {

// Four consecutive inputs are a quad, 8 quads a unit, 4 units a block of 128 inputs. A tensor core
// multiplies 16 inputs at once, of which each of four lanes t has one quad. So the codes of a block
// are stored by lane: the words of lane t hold, for each of the 4 units in turn, the two quads of
// the unit that this lane multiplies.
inline constexpr int64_t kQuadInputs = 4, kUnitInputs = 32, kBlockInputs = 128;

// A matrix of codes in device memory, one output after the other. Each output has a whole number of
// blocks; codes beyond the matrix' inputs may have any value.
struct DeviceCodes {
  WeightFormat format = WeightFormat::kInt8;
  int64_t rows = 0, cols = 0;       // outputs and inputs
  int64_t group_inputs = 0;         // inputs that share a scale: whole units, or `cols`
  const uint32_t* codes = nullptr;  // [rows][blocks][words_of_block()]
  // [rows][groups]; in int4 [rows][groups][2], scale and minimum; null in nf4-double
  const float* scales = nullptr;
  const int8_t* scale_codes = nullptr;  // [rows][groups], nf4-double: see QuantizedPanel
  const float* scale_steps =
      nullptr;  // [rows / kScaleBlockOutputs][groups / kScaleBlockGroups], rounded up
  float scale_mean = 0.0f;

  [[nodiscard]] __host__ __device__ int64_t blocks() const {
    return (cols + kBlockInputs - 1) / kBlockInputs;
  }
  [[nodiscard]] __host__ __device__ int64_t groups() const {
    return (cols + group_inputs - 1) / group_inputs;
  }
};

// Number of 32-bit words of a block. A word has four int8 codes, or eight four-bit codes.
__host__ __device__ constexpr int64_t words_of_block(WeightFormat format) {
  return format == WeightFormat::kInt8 ? 32 : 16;
}

// The place of a quad's four codes within the words of one output.
struct QuadPlace {
  int64_t word;  // index among the words of the output
  int shift;     // of four-bit codes: code i begins at bit shift + 16 (i % 2) + 4 (i / 2)
};
__host__ __device__ constexpr QuadPlace place_of_quad(WeightFormat format, int64_t quad) {
  const int64_t block = quad / 32, unit = quad / 8 % 4, half = quad / 4 % 2, lane = quad % 4;
  if (format == WeightFormat::kInt8)
    return {block * words_of_block(format) + lane * 8 + unit * 2 + half, 0};
  return {block * words_of_block(format) + lane * 4 + unit, static_cast<int>(8 * half)};
}

// LinearCall with device pointers: out [m, end - first] = x w^T + bias for outputs [first, end), or
// out += with `accumulate` (f32 only).
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

// True if multiply_codes() can run the call: its inputs have 16 bits, and its rows consist of whole
// quads.
bool multiplies_codes(const CodedProduct& call);
// Multiplies x with codes that are decoded as they are read. Products are exact, except that NF4's
// quantiles are rounded to the dtype `input`; sums are f32. The bits of a row of x do not depend on
// the other rows.
void multiply_codes(const CodedProduct& call, cudaStream_t stream);

// Writes the weights of outputs [first, end) to `out` [end - first, cols] in `dtype`, rounded once.
struct Expansion {
  DeviceCodes w;
  int64_t first = 0, end = 0;
  void* out = nullptr;
  DType dtype = DType::kBF16;
};
void expand_codes(const Expansion& call, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
