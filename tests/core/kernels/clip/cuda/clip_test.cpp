// Compares clipping on a device with its definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kernels/clip/cuda/clip.cuh"
#include "tests/cuda_on_cpu/device_array.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using cuda_on_cpu::DeviceArray;
using reprise::testing::random_values;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(CudaClip, ValuesBeyondTheLimitBecomeIt) {
  for (const int64_t count : {0, 1, 255, 257}) {
    std::vector<float> values = random_values(count, 3, DType::kF32, 4.0f);
    const DeviceArray<float> data(values);
    cuda::clip({.data = data.data(), .rows = 1, .cols = count, .limit = 2.5f}, nullptr);
    for (float& value : values) value = std::min(std::max(value, -2.5f), 2.5f);
    EXPECT_EQ(data.values(), values) << count;
  }
}

TEST(CudaClip, NanStaysAndInfinitiesBecomeTheLimit) {
  const DeviceArray<float> data(std::vector<float>{kNan, kInf, -kInf, 2.0f});
  cuda::clip({.data = data.data(), .rows = 2, .cols = 2, .limit = 2.0f}, nullptr);
  const std::vector<float> got = data.values();
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_EQ((std::vector<float>{got[1], got[2], got[3]}), (std::vector<float>{2.0f, -2.0f, 2.0f}));
}

}  // namespace
}  // namespace reprise::kernels
