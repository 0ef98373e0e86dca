#include "core/kernels/activation/cuda/activation.cuh"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/kernels/activation/reference/activation.h"
#include "tests/core/kernels/activation/activation_bounds.h"
#include "tests/cuda_on_cpu/device_array.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using cuda_on_cpu::DeviceNumbers;
using reprise::testing::activation_bounds;
using reprise::testing::expect_within;
using reprise::testing::kActivations;
using reprise::testing::random_values;
using reprise::testing::tensor_of;

// erfcf() is good to 4 units in the last place of numbers up to 2 [CUDA C++ Programming Guide,
// "Mathematical Functions"]; devices were seen within 2e-7.
constexpr double kErfError = 4 * 0x1p-23;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Case {
  ActivationKind kind = ActivationKind::kSilu;
  bool is_gated = false;
  DType dtype = DType::kF32;
  int64_t rows = 1, cols = 0;
};

// The dtype must hold the numbers of `x` exactly.
std::vector<float> run(const Case& c, const std::vector<float>& x) {
  const DeviceNumbers in(x, c.dtype);
  const DeviceNumbers out(static_cast<size_t>(c.rows * c.cols), c.dtype);
  cuda::activation({.kind = c.kind,
                    .is_gated = c.is_gated,
                    .x = in.data(),
                    .out = out.data(),
                    .dtype = c.dtype,
                    .rows = c.rows,
                    .cols = c.cols},
                   nullptr);
  return out.values();
}

void check(const Case& c, const std::vector<float>& x) {
  const Tensor input = tensor_of(x, c.dtype);
  const ActivationCall call{.kind = c.kind,
                            .is_gated = c.is_gated,
                            .x = input.data(),
                            .dtype = c.dtype,
                            .rows = c.rows,
                            .cols = c.cols};
  const std::vector<double> want = reference::activation(call);
  expect_within(run(c, x), want, activation_bounds(call, x, want, kErfError),
                fmt::format("kind {} {} {} cols {}", static_cast<int>(c.kind), name_of(c.dtype),
                            c.is_gated ? "gated" : "plain", c.cols));
}

TEST(CudaActivation, EveryWidthMatchesTheReference) {
  for (ActivationKind kind : kActivations)
    for (bool is_gated : {false, true})
      for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
        for (int64_t cols : {1, 5, 85, 86, 88, 172, 4160})
          for (int64_t rows : {1, 3})
            check({kind, is_gated, dtype, rows, cols},
                  random_values(rows * cols * (is_gated ? 2 : 1), static_cast<uint64_t>(cols),
                                dtype, 3.0f));
}

TEST(CudaActivation, WholeRangeMatchesTheReference) {
  for (ActivationKind kind : kActivations)
    for (DType dtype : {DType::kF32, DType::kBF16}) {
      std::vector<float> x;
      for (int i = -1000; i <= 1000; ++i) x.push_back(static_cast<float>(i) / 8.0f);  // +-125
      for (float magnitude = 1e-38f; magnitude < 1e38f; magnitude *= 3.7f) {
        x.push_back(magnitude);
        x.push_back(-magnitude);
      }
      x.insert(x.end(), {0.0f, 3.0e38f, -3.0e38f});
      const DeviceNumbers rounded(x, dtype);
      check({kind, false, dtype, 1, static_cast<int64_t>(x.size())}, rounded.values());
    }
}

TEST(CudaActivation, NanStaysNanAndTouchesNothingElse) {
  constexpr size_t kCols = 37;
  for (ActivationKind kind : kActivations)
    for (bool is_gated : {false, true})
      for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
        for (size_t at = 0; at < (is_gated ? 2 : 1) * kCols; at += 6) {
          std::vector<float> x = random_values((is_gated ? 2 : 1) * kCols, 1, dtype);
          x[at] = kNan;
          const std::vector<float> got = run({kind, is_gated, dtype, 1, kCols}, x);
          for (size_t i = 0; i < kCols; ++i)
            EXPECT_EQ(std::isnan(got[i]), i == at % kCols) << "NaN at " << at << ", element " << i;
        }
}

TEST(CudaActivation, PositiveInfinityStaysInfinite) {
  const std::vector<float> x(19, std::numeric_limits<float>::infinity());
  for (ActivationKind kind : kActivations) EXPECT_EQ(run({kind, false, DType::kF32, 1, 19}, x), x);
}

TEST(CudaActivation, PlainOutputMayReplaceTheInput) {
  for (ActivationKind kind : kActivations)
    for (int64_t cols : {121, 124}) {
      const std::vector<float> x = random_values(3 * cols, 1);
      const DeviceNumbers in_place(x, DType::kF32);
      cuda::activation(
          {.kind = kind, .x = in_place.data(), .out = in_place.data(), .rows = 3, .cols = cols},
          nullptr);
      EXPECT_EQ(in_place.values(), run({kind, false, DType::kF32, 3, cols}, x));
    }
}

TEST(CudaActivation, NoElementsWriteNothing) {
  const std::vector<float> ones(7, 1.0f), untouched(7, 3.0f);
  const DeviceNumbers x(ones, DType::kF32), out(untouched, DType::kF32);
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{0, 7}, {7, 0}})
    cuda::activation({.x = x.data(), .out = out.data(), .rows = rows, .cols = cols}, nullptr);
  EXPECT_EQ(out.values(), untouched);
}

}  // namespace
}  // namespace reprise::kernels
