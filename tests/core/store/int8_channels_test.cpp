#include "core/store/int8_channels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/random.h"

namespace reprise::kv {
namespace {

constexpr uint64_t kValuesSeed = 99;

struct Head {
  int64_t tokens, head_dim;
  std::vector<float> states;  // [tokens, head_dim]  as the dtype holds them
};

struct Restored {
  bool is_held = false;
  std::vector<int8_t> quantized;
  std::vector<float> scales, states;
};

Restored round_trip(const Head& head, DType dtype) {
  const size_t elements = head.states.size();
  std::vector<char> stored(elements * size_of(dtype)), out(elements * size_of(dtype));
  convert(head.states.data(), DType::kF32, stored.data(), dtype, elements);
  Restored restored;
  restored.quantized.resize(elements);
  restored.scales.resize(static_cast<size_t>(head.head_dim));
  restored.states.resize(elements);
  restored.is_held = quantize_head(stored.data(), dtype, head.tokens, head.head_dim,
                                   restored.quantized.data(), restored.scales.data());
  if (!restored.is_held) return restored;
  dequantize_head(restored.quantized.data(), restored.scales.data(), head.tokens, head.head_dim,
                  dtype, out.data());
  convert(out.data(), dtype, restored.states.data(), DType::kF32, elements);
  return restored;
}

// Channels of magnitudes from 2^-12 to 2^12. Some are constant, some zero, and some have one token
// that stands out.
Head random_head(int64_t tokens, int64_t head_dim, DType dtype, uint64_t seed) {
  Head head{tokens, head_dim, std::vector<float>(static_cast<size_t>(tokens * head_dim))};
  for (int64_t c = 0; c < head_dim; ++c) {
    const auto channel = static_cast<uint64_t>(c);
    const double magnitude = std::exp2(24 * random_unit(seed, 0, channel) - 12);
    const uint64_t kind = random_bits(seed, 1, channel) % 6;
    for (int64_t t = 0; t < tokens; ++t) {
      double state = magnitude * (2 * random_unit(seed, 2 + channel, static_cast<uint64_t>(t)) - 1);
      if (kind == 0) state = 0;
      if (kind == 1) state = magnitude;
      if (kind == 2 && t == tokens / 2) state *= 10;
      head.states[static_cast<size_t>(t * head_dim + c)] = static_cast<float>(state);
    }
  }
  // Rounds the states to the dtype.
  std::vector<char> stored(head.states.size() * size_of(dtype));
  convert(head.states.data(), DType::kF32, stored.data(), dtype, head.states.size());
  convert(stored.data(), dtype, head.states.data(), DType::kF32, head.states.size());
  return head;
}

// |x - q * scale| <= scale / 2, plus two roundings in f32: of the quotient, by 127 * 2^-24 of a
// scale, and of the product, by as much; plus the rounding of the result to the dtype, by half its
// spacing.
TEST(Int8Channels, TheErrorIsAtMostHalfAScale) {
  SCOPED_TRACE(kValuesSeed);
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (const int64_t tokens : {1, 2, 3, 7, 64, 129})
      for (const int64_t head_dim : {1, 5, 64, 80}) {
        const Head head = random_head(
            tokens, head_dim, dtype, kValuesSeed + static_cast<uint64_t>(tokens * 1000 + head_dim));
        const Restored restored = round_trip(head, dtype);
        ASSERT_TRUE(restored.is_held);
        for (int64_t c = 0; c < head_dim; ++c) {
          double most = 0;
          for (int64_t t = 0; t < tokens; ++t)
            most = std::max(
                most,
                std::fabs(static_cast<double>(head.states[static_cast<size_t>(t * head_dim + c)])));
          const double scale = restored.scales[static_cast<size_t>(c)];
          EXPECT_NEAR(scale, most / 127, most * 0x1p-24);
          for (int64_t t = 0; t < tokens; ++t) {
            const auto at = static_cast<size_t>(t * head_dim + c);
            const double rounding =
                dtype == DType::kF32 ? 0 : epsilon_of(dtype) / 2 * (most + scale) + 0x1p-25;
            ASSERT_LE(std::fabs(static_cast<double>(head.states[at]) - restored.states[at]),
                      scale * (0.5 + 254 * 0x1p-24) + rounding)
                << name_of(dtype) << " token " << t << " channel " << c << " of " << tokens << " x "
                << head_dim;
            ASSERT_GE(restored.quantized[at], -127);
          }
        }
      }
}

TEST(Int8Channels, ZerosAndTheLargestOfAChannelAreKept) {
  Head head{3, 2, {0, 5, 0, -5, 0, 1}};
  const Restored restored = round_trip(head, DType::kF32);
  ASSERT_TRUE(restored.is_held);
  EXPECT_EQ(restored.scales[0], 0);
  for (const size_t at : {0u, 2u, 4u}) EXPECT_EQ(restored.states[at], 0);
  EXPECT_EQ(restored.quantized[1], 127);
  EXPECT_EQ(restored.quantized[3], -127);
  EXPECT_FLOAT_EQ(restored.states[1], 5);
  EXPECT_FLOAT_EQ(restored.states[3], -5);
}

TEST(Int8Channels, ConstantsAreKept) {
  for (const float constant : {1.0f, -3.0e-3f, 6.0e4f}) {
    Head head{65, 3, std::vector<float>(65 * 3, constant)};
    const Restored restored = round_trip(head, DType::kF32);
    for (const float state : restored.states) EXPECT_FLOAT_EQ(state, constant);
  }
}

TEST(Int8Channels, TheEndsOfTheRangeStayFinite) {
  const float most = std::numeric_limits<float>::max();
  const float least = std::numeric_limits<float>::denorm_min();
  const Restored restored =
      round_trip({2, 3, {most, least, 1e-37f, -most, -least, 0}}, DType::kF32);
  ASSERT_TRUE(restored.is_held);
  EXPECT_FLOAT_EQ(restored.states[0], most);
  EXPECT_FLOAT_EQ(restored.states[3], -most);
  for (const size_t at : {1u, 4u})
    EXPECT_LE(std::fabs(restored.states[at]), std::numeric_limits<float>::min());
  EXPECT_NEAR(restored.states[2], 1e-37f, std::numeric_limits<float>::min() / 2);
}

TEST(Int8Channels, RefusesWhatIsNotFinite) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()})
      for (size_t at = 0; at < 6; ++at) {
        Head head{3, 2, {1, 2, 3, 4, 5, 6}};
        head.states[at] = bad;
        EXPECT_FALSE(round_trip(head, dtype).is_held) << bad << " at " << at;
      }
}

TEST(Int8Channels, OfNoTokensIsNothing) {
  std::vector<float> scales(4, 7.0f);
  EXPECT_TRUE(quantize_head(nullptr, DType::kF32, 0, 4, nullptr, scales.data()));
  EXPECT_EQ(scales, std::vector<float>(4, 0.0f));
}

}  // namespace
}  // namespace reprise::kv
