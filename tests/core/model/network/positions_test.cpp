#include "core/model/network/positions.h"

#include <gtest/gtest.h>

#include <cmath>

namespace reprise::model {
namespace {

// Expects slopes, given as exponents of two. For 8 heads they are as the ALiBi paper lists them.
// For a number of heads that is no power of two they are as its reference code makes them: the
// slopes of the next lower power, then every second slope of twice that power.
void expect_slopes(int64_t heads, const std::vector<double>& exponents) {
  const std::vector<float> slopes = alibi_slopes(heads, 8.0);
  ASSERT_EQ(slopes.size(), exponents.size());
  for (size_t i = 0; i < slopes.size(); ++i)
    EXPECT_FLOAT_EQ(slopes[i], static_cast<float>(std::exp2(exponents[i]))) << "head " << i;
}

TEST(AlibiSlopes, EightHeadsAreThoseOfThePaper) {
  expect_slopes(8, {-1, -2, -3, -4, -5, -6, -7, -8});
}
TEST(AlibiSlopes, TwelveHeadsTakeEightThenFourBetween) {
  expect_slopes(12, {-1, -2, -3, -4, -5, -6, -7, -8, -0.5, -1.5, -2.5, -3.5});
}
TEST(AlibiSlopes, FourteenHeadsTakeEightThenSixBetween) {
  expect_slopes(14, {-1, -2, -3, -4, -5, -6, -7, -8, -0.5, -1.5, -2.5, -3.5, -4.5, -5.5});
}
TEST(AlibiSlopes, OneTwoAndSixHeads) {
  expect_slopes(1, {-8});
  expect_slopes(2, {-4, -8});
  expect_slopes(6, {-2, -4, -6, -8, -1, -3});
}
TEST(AlibiSlopes, LargestBiasScalesTheExponents) {
  const std::vector<float> slopes = alibi_slopes(4, 16.0);
  for (int i = 0; i < 4; ++i)
    EXPECT_FLOAT_EQ(slopes[static_cast<size_t>(i)], std::exp2(-4.0f * static_cast<float>(i + 1)));
}

TEST(RotaryFrequencies, FallGeometricallyFromOne) {
  const std::vector<float> f = rotary_frequencies({.theta = 10000.0, .dims = 8}, 1);
  ASSERT_EQ(f.size(), 4u);
  EXPECT_FLOAT_EQ(f[0], 1.0F);
  EXPECT_FLOAT_EQ(f[1], 0.1F);
  EXPECT_FLOAT_EQ(f[2], 0.01F);
  EXPECT_FLOAT_EQ(f[3], 0.001F);
}

TEST(RotaryFrequencies, LinearScalingDividesAll) {
  const std::vector<float> f = rotary_frequencies(
      {.theta = 10000.0, .dims = 8, .scaling = RopeScaling::kLinear, .factor = 4.0}, 9999);
  EXPECT_FLOAT_EQ(f[0], 0.25F);
  EXPECT_FLOAT_EQ(f[3], 0.00025F);
}

// base' = base (factor length / trained - (factor - 1))^(d / (d - 2)); with d = 4, factor 2 and
// twice the trained length the bracket is 3 and the exponent 2: base' = 9 base.
TEST(RotaryFrequencies, DynamicScalingGrowsTheBaseBeyondTheTrainedLength) {
  const RotaryConfig rotary{.theta = 100.0,
                            .dims = 4,
                            .scaling = RopeScaling::kDynamic,
                            .factor = 2.0,
                            .original_max_positions = 1000};
  for (int64_t length : {1, 999, 1000}) {
    const std::vector<float> f = rotary_frequencies(rotary, length);
    EXPECT_FLOAT_EQ(f[0], 1.0F);
    EXPECT_FLOAT_EQ(f[1], 0.1F) << length;
  }
  const std::vector<float> f = rotary_frequencies(rotary, 2000);
  EXPECT_FLOAT_EQ(f[0], 1.0F);
  EXPECT_FLOAT_EQ(f[1], 1.0F / 30.0F);  // (900)^(-1/2)
}

// Llama 3.1's rule for wavelengths w = 2 pi / f with trained length L: the frequency stays if w < L
// / high; it is divided by the factor if w > L / low; in between, s = (L / w - low) / (high - low)
// mixes the two.
TEST(RotaryFrequencies, Llama3KeepsShortStretchesLongAndMixesBetween) {
  const RotaryConfig rotary{.theta = 500000.0,
                            .dims = 128,
                            .scaling = RopeScaling::kLlama3,
                            .factor = 8.0,
                            .low_freq_factor = 1.0,
                            .high_freq_factor = 4.0,
                            .original_max_positions = 8192};
  const std::vector<float> f = rotary_frequencies(rotary, 131072);
  ASSERT_EQ(f.size(), 64u);
  // The bound allows for f32 arithmetic as in transformers: a power, a quotient and the mix, some
  // 2^-24 each. The mix loses a few bits more where s is a difference of nearly equal numbers.
  constexpr double kRounding = 16 * 0x1p-24;
  int kept = 0, mixed = 0, stretched = 0;
  for (size_t c = 0; c < 64; ++c) {
    const double plain = std::exp(-std::log(500000.0) * static_cast<double>(c) / 64.0);
    const double wavelength = 6.283185307179586 / plain;
    if (wavelength < 2048.0) {
      EXPECT_NEAR(f[c], plain, kRounding * plain) << c;
      ++kept;
    } else if (wavelength > 8192.0) {
      EXPECT_NEAR(f[c], plain / 8.0, kRounding * plain) << c;
      ++stretched;
    } else {
      const double s = (8192.0 / wavelength - 1.0) / 3.0;
      EXPECT_NEAR(f[c], plain * (s + (1.0 - s) / 8.0), kRounding * plain) << c;
      ++mixed;
    }
  }
  // Successive wavelengths differ by the factor e^0.20504 (ln 500000 / 64 = 0.20504): 2 pi
  // e^(0.20504 c) passes 2048 after c = 28, and 8192 after c = 34.
  EXPECT_EQ(kept, 29);
  EXPECT_EQ(mixed, 6);
  EXPECT_EQ(stretched, 29);
}

}  // namespace
}  // namespace reprise::model
