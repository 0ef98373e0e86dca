// Error bounds of norms in f32.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/kernels/norm/norm.h"
#include "tests/support/kernels.h"

namespace reprise::testing {

// Sums run per lane (or thread), at least 4 of them: cols / 4 additions, then a few more across the
// lanes and for the tail. With r = (cols / 4 + 8) 2^-24:
//   the mean is off by d <= r mean|x|;
//   the variance, a sum of squares, by r relative, and by d^2;
//   1 / sqrt halves that, and the products and the bias add four roundings of their own.
inline std::vector<double> norm_bounds(const kernels::NormCall& call,
                                       const std::vector<double>& want) {
  const double r = (static_cast<double>(call.cols) / 4 + 8) * kUnitF32;
  std::vector<double> bound;
  for (int64_t row = 0; row < call.rows; ++row) {
    const float* x = call.x + row * call.cols;
    double mean = 0.0, magnitude = 0.0, variance = 0.0;
    for (int64_t i = 0; i < call.cols; ++i) {
      mean += static_cast<double>(x[i]) / static_cast<double>(call.cols);
      magnitude += std::abs(static_cast<double>(x[i])) / static_cast<double>(call.cols);
    }
    if (call.is_rms) mean = 0.0;
    const double d = call.is_rms ? 0.0 : r * magnitude;
    for (int64_t i = 0; i < call.cols; ++i)
      variance += std::pow(static_cast<double>(x[i]) - mean, 2) / static_cast<double>(call.cols);
    const double scale = 1.0 / std::sqrt(variance + static_cast<double>(call.epsilon));
    for (int64_t i = 0; i < call.cols; ++i) {
      const double weight = std::abs(static_cast<double>(call.weight[i]));
      const double centred = std::abs(static_cast<double>(x[i]) - mean) * scale * weight;
      const double y = std::abs(want[static_cast<size_t>(row * call.cols + i)]);
      double b = weight * scale * d + centred * (r / 2 + d * scale * d * scale + 4 * kUnitF32) +
                 2 * kUnitF32 * y;
      b += rounding_bound(call.out_dtype, y + b);
      bound.push_back(b);
    }
  }
  return bound;
}

}  // namespace reprise::testing
