// What formats of codes hold of a matrix, by the rules of core/base/weight_format.h taken
// literally: every code is tried.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/weight_format.h"

namespace reprise::kernels::reference {

// Each [rows, cols].
struct Held {
  std::vector<double> values;      // s q + a: what a weight comes back as
  std::vector<double> parts;       // s |q| + |a|: what bounds the rounding of sums of either
  std::vector<double> half_steps;  // half the distance of the two numbers on both sides of a weight
};

// w [rows, cols], finite. Scales are rounded to f32, as they are held; all else is in double.
Held quantized(WeightFormat format, std::span<const float> w, int64_t rows, int64_t cols);

}  // namespace reprise::kernels::reference
