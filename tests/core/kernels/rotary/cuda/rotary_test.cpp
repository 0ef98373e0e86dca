#include "core/kernels/rotary/cuda/rotary.cuh"

#include <gtest/gtest.h>

#include <cmath>

#include "core/kernels/rotary/reference/rotary.h"
#include "tests/core/kernels/rotary/rotary_bounds.h"
#include "tests/cuda_on_cpu/device_array.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using cuda_on_cpu::DeviceArray;
using reprise::testing::expect_within;
using reprise::testing::random_values;
using testing::frequencies;

struct Angles {
  std::vector<float> cos, sin;  // [rows, half]
};

Angles angles_of(const std::vector<int32_t>& positions, const std::vector<float>& inverse) {
  const DeviceArray<int32_t> device_positions(positions);
  const DeviceArray<float> device_inverse(inverse);
  const DeviceArray<float> cos(positions.size() * inverse.size()), sin(cos.size());
  cuda::rotary_angles({.positions = device_positions.data(),
                       .inverse_frequency = device_inverse.data(),
                       .cos = cos.data(),
                       .sin = sin.data(),
                       .rows = std::ssize(positions),
                       .half = std::ssize(inverse)},
                      nullptr);
  return {cos.values(), sin.values()};
}

void check(const testing::RotatedHeads& h, const std::vector<int32_t>& positions,
           const std::string& what) {
  const int64_t rows = std::ssize(positions);
  const std::vector<float> inverse = frequencies(h.half);
  std::vector<float> data = random_values(rows * h.row_stride, 7);
  const Angles angles = angles_of(positions, inverse);
  const DeviceArray<float> device(data), cos(angles.cos), sin(angles.sin);
  RotaryCall call{.data = device.data(),
                  .rows = rows,
                  .row_stride = h.row_stride,
                  .heads = h.heads,
                  .head_dim = h.head_dim,
                  .half = h.half,
                  .cos = cos.data(),
                  .sin = sin.data()};
  cuda::rotary(call, nullptr);
  call.data = data.data();
  const std::vector<double> want = reference::rotary(call, positions, inverse);
  expect_within(device.values(), want, testing::rotary_bounds(h, rows, data), what);
}

TEST(CudaRotary, EveryHeadSizeMatchesTheReference) {
  for (int64_t half : {1, 3, 8, 17, 32, 40, 64})
    for (int64_t heads : {1, 3})
      check({heads, 2 * half, half, heads * 2 * half}, {0, 1, 2, 3, 500},
            "half " + std::to_string(half));
}

TEST(CudaRotary, PositionsMayComeInAnyOrderRepeatAndLeaveGaps) {
  check({2, 64, 32, 192}, {70, 3, 3, 0, 100000, 4, 65, 1, 16777215}, "any order");
}

// Phi rotates the first 32 of 80 dimensions. In the fused row, values follow the keys.
TEST(CudaRotary, DimensionsBeyondTheRotatedOnesAndValuesPassThrough) {
  check({4, 80, 16, 6 * 80}, {5, 9, 2}, "partial");
  check({1, 10, 1, 13}, {5, 9, 2}, "one pair");
  check({0, 8, 4, 24}, {5}, "no heads");
  check({2, 8, 4, 24}, {}, "no rows");
}

TEST(CudaRotary, AnglesAreProductsInF32) {
  const std::vector<int32_t> positions = {16777215, 0, 131071};
  const std::vector<float> inverse = frequencies(5, 500000.0);
  const Angles got = angles_of(positions, inverse);
  for (size_t row = 0; row < 3; ++row)
    for (size_t c = 0; c < 5; ++c) {
      const double angle = static_cast<float>(positions[row]) * inverse[c];
      EXPECT_EQ(got.cos[row * 5 + c], static_cast<float>(std::cos(angle)));
      EXPECT_EQ(got.sin[row * 5 + c], static_cast<float>(std::sin(angle)));
    }
}

}  // namespace
}  // namespace reprise::kernels
