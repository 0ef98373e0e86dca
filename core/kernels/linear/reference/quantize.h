// Quantization by the rules of core/base/weight_format.h, implemented literally: it tries every
// code for every weight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/weight_format.h"

namespace reprise::kernels::reference {

// Each field is [rows, cols].
struct Held {
  std::vector<double> values;      // s q + a: the restored weight
  std::vector<double> parts;       // s |q| + |a|: bounds the rounding of sums
  std::vector<double> half_steps;  // half the distance of the two code values around a weight
};

// Quantizes w [rows, cols], which must be finite. Scales are rounded to f32, as they are stored;
// all else is in double.
Held quantized(WeightFormat format, std::span<const float> w, int64_t rows, int64_t cols);

}  // namespace reprise::kernels::reference
