#include "core/base/dtype.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/error.h"

namespace reprise {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

template <typename T>
T from_bits(uint32_t bits) {
  T value;
  value.bits = static_cast<uint16_t>(bits);
  return value;
}

// Decodes a bit pattern by the format's definition: sign, exponent, fraction.
double value_by_definition(uint32_t bits, int exponent_bits, int fraction_bits) {
  const double sign = (bits >> 15) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = static_cast<int>(bits) & ((1 << fraction_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == (1 << exponent_bits) - 1)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

template <typename T>
void check_all_patterns(int exponent_bits, int fraction_bits) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = from_bits<T>(bits);
    const double want = value_by_definition(bits, exponent_bits, fraction_bits);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(T(value)))) << bits;
      ASSERT_EQ(std::signbit(value), (bits >> 15) != 0) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), want) << bits;
      ASSERT_EQ(T(value).bits, bits) << "round trip of " << value;
    }
  }
}

TEST(DType, AllPatternsOfBf16HaveTheirValueAndComeBack) { check_all_patterns<bf16>(8, 7); }
TEST(DType, AllPatternsOfF16HaveTheirValueAndComeBack) { check_all_patterns<f16>(5, 10); }

// Checks numbers between each pair of neighbours: a number just below the middle rounds down, the
// middle rounds to the even neighbour, and a number just above it rounds up.
template <typename T>
void check_rounding(uint32_t end_of_finite) {
  for (uint32_t bits = 0; bits + 1 < end_of_finite; ++bits) {
    const float low = from_bits<T>(bits), high = from_bits<T>(bits + 1);
    const auto middle =
        static_cast<float>((static_cast<double>(low) + static_cast<double>(high)) / 2.0);
    const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(T(middle).bits, even) << middle;
    ASSERT_EQ(T(std::nextafter(middle, 0.0f)).bits, bits) << middle;
    ASSERT_EQ(T(std::nextafter(middle, kInf)).bits, bits + 1) << middle;
    ASSERT_EQ(T(-middle).bits, even | 0x8000u) << middle;
  }
}

TEST(DType, F16RoundsToNearestEven) { check_rounding<f16>(0x7c00); }
// The middle between two subnormal bf16 neighbours is a subnormal f32, which is exact too.
TEST(DType, Bf16RoundsToNearestEven) { check_rounding<bf16>(0x7f80); }

TEST(DType, OverflowBecomesInfinityFromTheMiddleOn) {
  EXPECT_EQ(f16(65519.99f).bits, 0x7bff);  // 65504 is the largest
  EXPECT_EQ(f16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(f16(65536.0f).bits, 0x7c00);
  EXPECT_EQ(f16(1e38f).bits, 0x7c00);
  EXPECT_EQ(f16(-70000.0f).bits, 0xfc00);
  EXPECT_EQ(f16(kInf).bits, 0x7c00);
  EXPECT_EQ(bf16(std::bit_cast<float>(0x7f7f7fffu)).bits, 0x7f7f);
  EXPECT_EQ(bf16(std::bit_cast<float>(0x7f7f8000u)).bits, 0x7f80);
  EXPECT_EQ(bf16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(bf16(-kInf).bits, 0xff80);
}

TEST(DType, UnderflowKeepsTheSign) {
  EXPECT_EQ(f16(1e-30f).bits, 0x0000);
  EXPECT_EQ(f16(-1e-30f).bits, 0x8000);
  EXPECT_EQ(f16(0x1p-25f).bits, 0x0000);  // halfway to the smallest number: rounds to even, 0
  EXPECT_EQ(f16(std::nextafter(0x1p-25f, 1.0f)).bits, 0x0001);
  EXPECT_EQ(f16(-0.0f).bits, 0x8000);
  EXPECT_EQ(bf16(-0.0f).bits, 0x8000);
  EXPECT_EQ(bf16(std::numeric_limits<float>::denorm_min()).bits, 0x0000);
}

TEST(DType, EveryNanStaysNan) {
  for (uint32_t high = 0x7f80; high <= 0x7fff; ++high)
    for (uint32_t low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0xffffu})
      for (uint32_t sign : {0u, 0x80000000u}) {
        const float value = std::bit_cast<float>(sign | high << 16 | low);
        if (!std::isnan(value)) continue;
        EXPECT_TRUE(std::isnan(static_cast<float>(bf16(value))));
        EXPECT_TRUE(std::isnan(static_cast<float>(f16(value))));
      }
}

TEST(DType, ConvertAgreesWithTheScalarConversions) {
  const std::array<float, 5> values = {1.0f, -3.14159f, 1e-7f, 70000.0f, 0.1f};
  std::vector<bf16> b(5);
  std::vector<f16> h(5);
  std::vector<float> back(5);
  convert(values.data(), DType::kF32, b.data(), DType::kBF16, 5);
  convert(values.data(), DType::kF32, h.data(), DType::kF16, 5);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(b[i].bits, bf16(values[i]).bits);
    EXPECT_EQ(h[i].bits, f16(values[i]).bits);
  }
  convert(b.data(), DType::kBF16, h.data(), DType::kF16, 5);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(h[i].bits, f16(static_cast<float>(b[i])).bits);
  convert(values.data(), DType::kF32, back.data(), DType::kF32, 5);
  EXPECT_EQ(std::vector(values.begin(), values.end()), back);
  convert(nullptr, DType::kF32, nullptr, DType::kF32, 0);
  convert(nullptr, DType::kF32, nullptr, DType::kBF16, 0);
}

TEST(DType, NamesRoundTripAndUnknownOnesAreErrors) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
  EXPECT_EQ(parse_dtype("float32"), DType::kF32);
  EXPECT_EQ(parse_dtype("bfloat16"), DType::kBF16);
  EXPECT_EQ(parse_dtype("half"), DType::kF16);
  EXPECT_THROW(parse_dtype("int8"), Error);
  EXPECT_THROW(parse_dtype(""), Error);
}

TEST(DType, VisitCallsWithTheMatchingType) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    visit_dtype(dtype, [&](auto tag) {
      EXPECT_EQ(dtype_of<decltype(tag)>, dtype);
      EXPECT_EQ(sizeof(tag), size_of(dtype));
    });
}

}  // namespace
}  // namespace reprise
