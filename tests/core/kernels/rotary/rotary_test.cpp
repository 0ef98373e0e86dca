#include "core/kernels/rotary/rotary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/kernels/rotary/rotary_checks.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using reprise::testing::kUnitF32;
using reprise::testing::random_values;

TEST(Rotary, EveryHeadSizeMatchesTheReference) {
  for (int64_t half : {1, 3, 4, 5, 7, 8, 9, 16, 17, 32, 40, 64, 128})
    for (int64_t heads : {1, 3})
      testing::check_rotary({heads, 2 * half, half, heads * 2 * half}, {0, 1, 2, 3, 500},
                            "half " + std::to_string(half));
}

TEST(Rotary, PositionsMayComeInAnyOrderRepeatAndLeaveGaps) {
  testing::check_rotary({2, 64, 32, 192}, {70, 3, 3, 0, 100000, 4, 65, 1, 16777215}, "any order");
}

// Phi rotates the first 32 of 80 dimensions. In the fused row, values follow the keys.
TEST(Rotary, DimensionsBeyondTheRotatedOnesAndValuesPassThrough) {
  testing::check_rotary({4, 80, 16, 6 * 80}, {5, 9, 2}, "partial");
  testing::check_rotary({1, 10, 1, 13}, {5, 9, 2}, "one pair");
  testing::check_rotary({0, 8, 4, 24}, {5}, "no heads");
}

TEST(Rotary, PositionZeroChangesNothing) {
  std::vector<float> data = random_values(3 * 64, 2);
  const std::vector<float> before = data, cos(3 * 32, 1.0f), sin(3 * 32, 0.0f);
  for (Isa isa : available_isas()) {
    RotaryCall{.data = data.data(),
               .rows = 3,
               .row_stride = 64,
               .heads = 1,
               .head_dim = 64,
               .half = 32,
               .cos = cos.data(),
               .sin = sin.data()}
        .run({.threads = 1, .isa = isa});
    EXPECT_EQ(data, before);
  }
}

// Scores depend on the distance alone: rotating query and key by the same amount keeps their
// product. The bound is for two rotations of unit-normal vectors of 64 and a product of 64 terms,
// each off by a few 2^-24 of at most |q| |k|. Each of the two angles is rounded too, which turns it
// by up to its position times 2^-24.
TEST(Rotary, ProductsDependOnTheDistanceAlone) {
  const std::vector<float> q = random_values(64, 1), k = random_values(64, 2);
  const std::vector<float> inverse = testing::frequencies(32);
  const auto product_at = [&](int32_t q_position, int32_t k_position) {
    std::vector<float> rows = q;
    rows.insert(rows.end(), k.begin(), k.end());
    std::vector<float> cos(64), sin(64);
    const Context context{.threads = 1, .isa = best_isa()};
    rotary_angles(std::vector<int32_t>{q_position, k_position}, inverse, 1.0f, cos.data(),
                  sin.data(), context);
    RotaryCall{.data = rows.data(),
               .rows = 2,
               .row_stride = 64,
               .heads = 1,
               .head_dim = 64,
               .half = 32,
               .cos = cos.data(),
               .sin = sin.data()}
        .run(context);
    double sum = 0.0;
    for (size_t c = 0; c < 64; ++c)
      sum += static_cast<double>(rows[c]) * static_cast<double>(rows[64 + c]);
    return sum;
  };
  double norms = 0.0;
  for (size_t c = 0; c < 64; ++c)
    norms += std::abs(static_cast<double>(q[c] * k[c])) +
             std::abs(static_cast<double>(q[c] * k[(c + 32) % 64]));
  const double want = product_at(17, 5);
  for (int32_t shift : {1, 100, 5000, 1000000})
    EXPECT_NEAR(product_at(17 + shift, 5 + shift), want,
                (16 + 2 * static_cast<double>(17 + shift)) * kUnitF32 * norms)
        << shift;
}

// The angle is a product in f32, as in training. Its sine and cosine are computed from that number,
// rounded once, and scaled.
TEST(Rotary, AnglesAreProductsInF32) {
  const std::vector<int32_t> positions = {16777215, 0, 131071};
  const std::vector<float> inverse = testing::frequencies(5, 500000.0);
  std::vector<float> cos(15), sin(15);
  const float factor = 1.1386f;
  rotary_angles(positions, inverse, factor, cos.data(), sin.data(),
                {.threads = 2, .isa = best_isa()});
  for (size_t row = 0; row < 3; ++row)
    for (size_t c = 0; c < 5; ++c) {
      const double angle = static_cast<float>(positions[row]) * inverse[c];
      EXPECT_EQ(cos[row * 5 + c], factor * static_cast<float>(std::cos(angle)));
      EXPECT_EQ(sin[row * 5 + c], factor * static_cast<float>(std::sin(angle)));
    }
}

}  // namespace
}  // namespace reprise::kernels
