// The number formats in which a weight matrix is stored; they may differ from the activations'
// dtype.
//
// Plain formats store each value as it is. The others store a code c of few bits for each value w,
// and scales. A group is a run of consecutive inputs of one output; its values share a scale s.
//   int8         one group per output: w = s c, s = max|w| / 127, c in [-127, 127]
//                [optimum-quanto's qint8 weights]
//   int4         groups of 128 inputs: w = s c + a, a = min w, s = (max w - a) / 15, c in [0, 15].
//                If 128 does not divide the number of inputs: groups of 96, 64 or 32 inputs, the
//                largest of these that does. If none does, or if there are at most 128 inputs: one
//                group per output.
//                [optimum-quanto's qint4 weights: MaxOptimizer with a float shift]
//   nf4          groups of 64 inputs: w = s q[c], s = max|w|, q the 16 quantiles of a normal
//                distribution, scaled to [-1, 1]  [QLoRA §3, appendix E]
//   nf4-double   nf4 whose scales are stored as s = m + t d: m is the mean of the matrix' scales, d
//                in [-127, 127], one t for 256 scales (four groups of each of 64 outputs)
//                [QLoRA §3, "double quantization"; bitsandbytes has d as an 8-bit float]
// Scales and a are f32 whatever the weights' dtype, as in bitsandbytes; optimum-quanto stores them
// in the weights' dtype.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/base/dtype.h"

namespace reprise {

// How a matrix stores its values: as they are, or as the codes described at the top of this file.
enum class WeightFormat : uint8_t { kF32, kBF16, kF16, kInt8, kInt4, kNf4, kNf4Double };

inline constexpr std::array kWeightFormats = {
    WeightFormat::kF32,  WeightFormat::kBF16, WeightFormat::kF16,      WeightFormat::kInt8,
    WeightFormat::kInt4, WeightFormat::kNf4,  WeightFormat::kNf4Double};

// "f32", "bf16", "f16", "int8", "int4", "nf4", "nf4-double".
std::string_view name_of(WeightFormat format);
// Accepts the results of name_of() and the names that parse_dtype() accepts. Throws Error for
// another name and offers the nearest one.
WeightFormat parse_weight_format(std::string_view name);

// Returns the plain format for values of `dtype`.
WeightFormat format_of(DType dtype);
// True for formats that store codes.
constexpr bool is_quantized(WeightFormat format) { return format >= WeightFormat::kInt8; }
// Returns the dtype of the values from which a matrix of this format is filled: for a plain format
// its own dtype, for codes f32.
DType source_dtype(WeightFormat format);
// Bits per value in a large matrix, including the value's share of the scales' bits.
double bits_per_weight(WeightFormat format);

// The storage format of a matrix, and the dtype of the inputs by which it is multiplied.
struct WeightType {
  WeightFormat format = WeightFormat::kF32;
  DType input = DType::kF32;

  WeightType() = default;
  WeightType(DType plain)  // NOLINT(google-explicit-constructor): values as they are
      : format(format_of(plain)), input(plain) {}
  // A matrix of format `held`, whose inputs have source_dtype(held).
  WeightType(WeightFormat held)  // NOLINT(google-explicit-constructor): a format is a type
      : format(held), input(source_dtype(held)) {}
  WeightType(WeightFormat held, DType inputs) : format(held), input(inputs) {}
};

}  // namespace reprise
