// Error bounds of activations in f32.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/kernels/activation/activation.h"
#include "core/kernels/activation/reference/activation.h"
#include "tests/support/kernels.h"

namespace reprise::testing {

inline constexpr kernels::ActivationKind kActivations[] = {kernels::ActivationKind::kSilu,
                                                           kernels::ActivationKind::kGelu,
                                                           kernels::ActivationKind::kGeluTanh};

// An exponential below this number, 2^-125.5, is computed as 0.
inline constexpr double kLeast = 1.4142135623730951 * kSmallestNormal;

// Each f32 rounding has a relative error of up to u = 2^-24. An exponential e^-z is off by the
// roundings of its argument (three of magnitude z) and by 4 u of its own; below kLeast it is 0. In
// gelu_tanh the argument has six roundings. So the bounds are
//   silu       z = |x|:                        |y| (3 z + 10) u + |x| kLeast
//   gelu_tanh  z = 1.6 (|x| + 0.044715 |x|^3): |y| (6 z + 14) u + |x| kLeast
//   gelu       x (1 + erf) / 2:                |x| / 2 erf_error + 3 |x| u
inline double bound_of(kernels::ActivationKind kind, double x, double y, double erf_error) {
  const double magnitude = std::abs(x);
  switch (kind) {
    case kernels::ActivationKind::kSilu:
      return std::abs(y) * (3 * magnitude + 10) * kUnitF32 + magnitude * kLeast;
    case kernels::ActivationKind::kGelu:
      return magnitude / 2 * erf_error + 3 * magnitude * kUnitF32;
    case kernels::ActivationKind::kGeluTanh: {
      const double z = 1.6 * (magnitude + 0.044715 * std::pow(magnitude, 3));
      return std::abs(y) * (6 * std::min(z, 200.0) + 14) * kUnitF32 + magnitude * kLeast;
    }
  }
  return 0.0;
}

// The error bound of each output element of `call`, whose inputs are `x` and whose reference is
// `want`. The default of `erf_error` is the error that the kernels' header promises.
inline std::vector<double> activation_bounds(const kernels::ActivationCall& call,
                                             const std::vector<float>& x,
                                             const std::vector<double>& want,
                                             double erf_error = 2e-7) {
  std::vector<double> bounds;
  for (int64_t row = 0; row < call.rows; ++row)
    for (int64_t i = 0; i < call.cols; ++i) {
      const float* at = x.data() + row * call.cols * (call.is_gated ? 2 : 1) + i;
      const double gate = static_cast<double>(at[0]);
      const double up = call.is_gated ? std::abs(static_cast<double>(at[call.cols])) : 1.0;
      const double y = std::abs(want[static_cast<size_t>(row * call.cols + i)]);
      double b =
          bound_of(call.kind, gate, kernels::reference::activate(call.kind, gate), erf_error) * up +
          kUnitF32 * y + kSmallestNormal;
      b += rounding_bound(call.dtype, y + b);
      bounds.push_back(b);
    }
  return bounds;
}

}  // namespace reprise::testing
