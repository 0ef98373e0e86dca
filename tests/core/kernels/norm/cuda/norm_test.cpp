#include "core/kernels/norm/cuda/norm.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/kernels/norm/reference/norm.h"
#include "tests/core/kernels/norm/norm_bounds.h"
#include "tests/cuda_on_cpu/device_array.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using cuda_on_cpu::DeviceArray;
using cuda_on_cpu::DeviceNumbers;
using reprise::testing::expect_within;
using reprise::testing::norm_bounds;
using reprise::testing::random_values;

// Runs a call with host pointers on the device.
std::vector<float> run(NormCall call) {
  const auto row = static_cast<size_t>(call.cols), all = static_cast<size_t>(call.rows) * row;
  const DeviceArray<float> x(std::vector<float>(call.x, call.x + all));
  const DeviceArray<float> weight(std::vector<float>(call.weight, call.weight + row));
  const DeviceArray<float> bias(
      std::vector<float>(call.bias, call.bias + (call.bias != nullptr ? row : 0)));
  const DeviceNumbers out(all, call.out_dtype);
  call.x = x.data();
  call.weight = weight.data();
  call.bias = bias.data();  // null if it has no elements
  call.out = out.data();
  cuda::norm(call, nullptr);
  return out.values();
}

void check(const NormCall& call, const std::string& what) {
  const std::vector<double> want = reference::norm(call);
  expect_within(run(call), want, norm_bounds(call, want),
                what + (call.is_rms ? " rms" : " layer") + " cols " + std::to_string(call.cols));
}

TEST(CudaNorm, EveryWidthMatchesTheReference) {
  for (int64_t cols :
       {1, 2, 31, 32, 33, 64, 200, 255, 256, 257, 1027, 1028, 3000, 4096, 6144, 8192, 8196})
    for (bool is_rms : {true, false})
      for (bool has_bias : {false, true})
        for (DType out_dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
          constexpr int64_t kRows = 3;
          const std::vector<float> x = random_values(kRows * cols, 1),
                                   weight = random_values(cols, 2), bias = random_values(cols, 3);
          check({.is_rms = is_rms,
                 .weight = weight.data(),
                 .bias = has_bias ? bias.data() : nullptr,
                 .x = x.data(),
                 .out_dtype = out_dtype,
                 .rows = kRows,
                 .cols = cols},
                has_bias ? "bias" : "no bias");
        }
}

// The variance is computed in a second pass, so a mean a thousand times the deviation must not
// cancel it.
TEST(CudaNorm, LargeMeansDoNotCancel) {
  std::vector<float> x = random_values(2 * 600, 1);
  for (float& value : x) value += 1000.0f;
  const std::vector<float> weight(600, 1.0f);
  check({.is_rms = false, .weight = weight.data(), .x = x.data(), .rows = 2, .cols = 600},
        "mean 1000");
}

TEST(CudaNorm, LargeAndSmallMagnitudesMatchTheReference) {
  for (float magnitude : {1e-20f, 1e-6f, 1e6f, 1e15f}) {
    const std::vector<float> x = random_values(2 * 100, 1, DType::kF32, magnitude);
    const std::vector<float> weight = random_values(100, 2);
    for (bool is_rms : {true, false})
      check({.is_rms = is_rms, .weight = weight.data(), .x = x.data(), .rows = 2, .cols = 100},
            "magnitude " + std::to_string(magnitude));
  }
}

TEST(CudaNorm, OutputMayReplaceTheInput) {
  const std::vector<float> x = random_values(4 * 70, 1), weight = random_values(70, 2);
  for (bool is_rms : {true, false}) {
    NormCall call{.is_rms = is_rms, .weight = weight.data(), .x = x.data(), .rows = 4, .cols = 70};
    const std::vector<float> apart = run(call);
    const DeviceArray<float> in_place(x), device_weight(weight);
    call.weight = device_weight.data();
    call.x = in_place.data();
    call.out = in_place.data();
    cuda::norm(call, nullptr);
    EXPECT_EQ(in_place.values(), apart);
  }
}

// The kernel may begin while the kernel before it is still ending.
TEST(CudaNorm, InputMayHaveJustBeenWritten) {
  for (const int64_t cols : {70, 256}) {
    const std::vector<float> x = random_values(4 * cols, 1), weight = random_values(cols, 2);
    NormCall call{.weight = weight.data(), .x = x.data(), .rows = 4, .cols = cols};
    const std::vector<float> once = run(call);
    call.x = once.data();
    const std::vector<float> twice = run(call);
    const DeviceArray<float> first(x), second(x.size()), third(x.size()), device_weight(weight);
    call.weight = device_weight.data();
    call.x = first.data();
    call.out = second.data();
    cuda::norm(call, nullptr);
    call.x = second.data();
    call.out = third.data();
    cuda::norm(call, nullptr);
    EXPECT_EQ(third.values(), twice) << cols << " columns";
  }
}

TEST(CudaNorm, NanSpoilsItsOwnRowOnly) {
  for (bool is_rms : {true, false})
    for (DType out_dtype : {DType::kF32, DType::kBF16, DType::kF16})
      for (size_t at : {size_t{0}, size_t{18}, size_t{299}}) {
        std::vector<float> x = random_values(2 * 300, 1);
        x[at] = std::numeric_limits<float>::quiet_NaN();
        const std::vector<float> weight(300, 1.0f);
        const std::vector<float> got = run({.is_rms = is_rms,
                                            .weight = weight.data(),
                                            .x = x.data(),
                                            .out_dtype = out_dtype,
                                            .rows = 2,
                                            .cols = 300});
        for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(std::isnan(got[i]), i < 300) << i;
      }
}

TEST(CudaNorm, NoRowsAndNoColumnsWriteNothing) {
  const DeviceArray<float> out(std::vector<float>{5.0f});
  for (int64_t rows : {0, 1})
    for (int64_t cols = 0; rows + cols < 2; ++cols)
      cuda::norm(
          {.weight = out.data(), .x = out.data(), .out = out.data(), .rows = rows, .cols = cols},
          nullptr);
  EXPECT_EQ(out.values(), std::vector<float>{5.0f});
}

}  // namespace
}  // namespace reprise::kernels
