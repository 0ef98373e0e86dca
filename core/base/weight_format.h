// How the numbers of a weight matrix are held, which need not be the format of activations.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/base/dtype.h"

namespace reprise {

// Plain formats hold each value as it is, the others as a code of few bits that a scale multiplies.
// A group is a run of inputs of one output, which begins anew in each output, and c the code of a
// value w in it.
//   int8         one group for each output: w = s c, s = max|w| / 127, c in [-127, 127]
//                [optimum-quanto's qint8 weights]
//   int4         groups of 128 inputs: w = s c + a, a = min w, s = (max w - a) / 15, c in [0, 15]
//                [optimum-quanto's qint4 weights: MaxOptimizer with a float shift, which is no
//                symmetric code; 96, 64 or 32 inputs where those divide the inputs and 128 does
//                not, one group for each output where none does or there are 128 inputs at most]
//   nf4          groups of 64 inputs: w = s q[c], s = max|w|, q the 16 quantiles of a normal
//                distribution, scaled to [-1, 1]  [QLoRA §3, appendix E]
//   nf4-double   the same, with s itself held as s = m + t d: m the mean of the matrix' scales, d
//                in [-127, 127], t of 256 of them, four groups of 64 outputs  [QLoRA §3, "double
//                quantization"; bitsandbytes' d counts in an 8-bit float, ours evenly]
// Scales and a are held in f32, as bitsandbytes holds its own whatever the weights' dtype;
// optimum-quanto's are in the weights' dtype.
enum class WeightFormat : uint8_t { kF32, kBF16, kF16, kInt8, kInt4, kNf4, kNf4Double };

inline constexpr std::array kWeightFormats = {
    WeightFormat::kF32,  WeightFormat::kBF16, WeightFormat::kF16,      WeightFormat::kInt8,
    WeightFormat::kInt4, WeightFormat::kNf4,  WeightFormat::kNf4Double};

// "f32", "bf16", "f16", "int8", "int4", "nf4", "nf4-double".
std::string_view name_of(WeightFormat format);
// Accepts these names and those that parse_dtype() takes; throws Error, which offers the nearest,
// otherwise.
WeightFormat parse_weight_format(std::string_view name);

// The plain format that holds values of `dtype`.
WeightFormat format_of(DType dtype);
// Whether values are held as codes.
constexpr bool is_quantized(WeightFormat format) { return format >= WeightFormat::kInt8; }
// What a matrix in this format is filled from: the values' own dtype, f32 for codes.
DType source_dtype(WeightFormat format);
// Bits of a value in a large matrix, its share of the scales included.
double bits_per_weight(WeightFormat format);

// How a matrix is held, and the dtype of the inputs it is multiplied with.
struct WeightType {
  WeightFormat format = WeightFormat::kF32;
  DType input = DType::kF32;

  WeightType() = default;
  WeightType(DType plain)  // NOLINT(google-explicit-constructor): values as they are
      : format(format_of(plain)), input(plain) {}
  // Multiplied with what it is filled from.
  WeightType(WeightFormat held)  // NOLINT(google-explicit-constructor): a format is a type
      : format(held), input(source_dtype(held)) {}
  WeightType(WeightFormat held, DType inputs) : format(held), input(inputs) {}
};

}  // namespace reprise
