// Helpers for the tests of all kernels: the instruction sets to run, random inputs that a dtype
// holds exactly, and comparison against a bound for each element.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/device/cpu.h"
#include "core/device/tensor.h"

namespace reprise::testing {

// Unit roundoffs: half the spacing of numbers above 1.
inline constexpr double kUnitF32 = 0x1p-24;
inline constexpr double kUnitBf16 = 0x1p-8;
// The largest error of flushing one product or result to zero.
inline constexpr double kSmallestNormal = 0x1p-126;

// The largest error of rounding a number of this magnitude to `dtype`; 0 for f32.
inline double rounding_bound(DType dtype, double magnitude) {
  if (dtype == DType::kF32) return 0.0;
  const double of_subnormals = dtype == DType::kF16 ? 0x1p-25 : 0.0;
  return epsilon_of(dtype) / 2 * magnitude + of_subnormals;
}

inline std::vector<Isa> available_isas() {
  std::vector<Isa> isas;
  for (Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx})
    if (isa <= best_isa()) isas.push_back(isa);
  return isas;
}

// Normally distributed values rounded to `dtype`, as f32, so that the oracle and the kernel start
// from the same numbers.
inline std::vector<float> random_values(int64_t count, uint64_t seed, DType dtype = DType::kF32,
                                        float scale = 1.0f) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    value = normal(random);
    if (dtype == DType::kBF16) value = bf16(value);
    if (dtype == DType::kF16) value = f16(value);
  }
  return values;
}

// The values in `dtype`, at an aligned address.
inline Tensor tensor_of(const std::vector<float>& values, DType dtype) {
  Tensor tensor(dtype, {static_cast<int64_t>(values.size())});
  convert(values.data(), DType::kF32, tensor.data(), dtype, values.size());
  return tensor;
}

inline std::vector<float> values_of(const Tensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  convert(tensor.data(), tensor.dtype(), values.data(), DType::kF32, values.size());
  return values;
}

// Expects |got - want| <= bound for each element, and reports the worst one.
inline void expect_within(const std::vector<float>& got, const std::vector<double>& want,
                          const std::vector<double>& bound, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  ASSERT_EQ(got.size(), bound.size()) << what;
  double worst = 0.0;
  size_t at = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_FALSE(std::isnan(got[i])) << what << ": element " << i << " is NaN, want " << want[i];
    const double error = std::abs(static_cast<double>(got[i]) - want[i]);
    if (error > bound[i] && error - bound[i] > worst) {
      worst = error - bound[i];
      at = i;
    }
  }
  EXPECT_EQ(worst, 0.0) << what << ": element " << at << " is " << got[at] << ", want " << want[at]
                        << " within " << bound[at];
}

}  // namespace reprise::testing
