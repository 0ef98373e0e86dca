// Tests weights held as codes: which values the codes hold, how far these are from the given
// values, and how much memory the codes take.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "core/base/error.h"
#include "core/kernels/linear/quantize.h"
#include "tests/support/coded_weight.h"

namespace reprise::kernels {
namespace {

using reprise::testing::block_of;
using reprise::testing::Coded;
using reprise::testing::held_by;
using reprise::testing::kCodeFormats;
using reprise::testing::random_values;
using reprise::testing::weight_of;

// Column counts on both sides of panels, units, groups and their divisors. In int4, 129 columns are
// one group; 160 have groups of 32, 192 of 96, 320 of 64, and 256 of 128.
constexpr int64_t kColEdges[] = {1,  7,  8,   31,  32,  33,  63,  64,  65, 70,
                                 96, 97, 127, 128, 129, 160, 192, 256, 320};
constexpr int64_t kRowEdges[] = {1, 63, 64, 65, 130};

TEST(Quantized, HoldsWhatTheRuleOfItsFormatSays) {
  uint64_t seed = 1;
  for (WeightFormat format : kCodeFormats)
    for (int64_t rows : kRowEdges)
      for (int64_t cols : kColEdges) {
        const Coded w(rows, cols, format, ++seed);
        for (size_t i = 0; i < w.held.size(); ++i) {
          // If a value lies halfway between two numbers, either is right.
          const auto value = static_cast<double>(w.values[i]),
                     held = static_cast<double>(w.held[i]);
          const double tiny = 0x1p-22 * (w.want.parts[i] + std::abs(value));
          if (std::abs(held - w.want.values[i]) <= tiny) continue;
          ASSERT_NEAR(std::abs(held - value), std::abs(w.want.values[i] - value), tiny)
              << w.text() << " element " << i << ": " << held << " held of " << value << ", want "
              << w.want.values[i];
        }
      }
}

// Outliers, one-signed values, wide and narrow ranges.
TEST(Quantized, ErrorIsAtMostHalfAStep) {
  for (WeightFormat format : kCodeFormats)
    for (const auto& [shift, scale] :
         {std::pair{0.0f, 1.0f}, {5.0f, 0.01f}, {-3.0f, 1e-20f}, {0.0f, 1e30f}, {1e-3f, 1e-6f}}) {
      std::vector<float> values = random_values(65 * 160, 7, DType::kF32, scale);
      for (float& value : values) value += shift;
      values[3] *= 50.0f;
      const Weight w = weight_of(values, 65, 160, format);
      const reference::Held want = reference::quantized(format, values, 65, 160);
      const std::vector<float> held = held_by(w);
      for (size_t i = 0; i < held.size(); ++i)
        ASSERT_LE(std::abs(static_cast<double>(held[i]) - static_cast<double>(values[i])),
                  want.half_steps[i] + 0x1p-21 * want.parts[i] + 0x1p-149)
            << name_of(format) << " shift " << shift << " scale " << scale << " element " << i;
    }
}

// Every code occurs in every group, with scales that f32 holds exactly.
std::vector<float> values_that_codes_hold(WeightFormat format, int64_t rows, int64_t cols) {
  std::vector<float> values;
  const int64_t group = group_inputs(format, cols);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t col = 0; col < cols; ++col) {
      const int64_t in_group = col % group;
      const float scale = std::ldexp(1.0f, static_cast<int>((row + col / group) % 5) - 3);
      if (format == WeightFormat::kInt8) {
        // Each row has a 127, from which its scale is taken.
        values.push_back(scale * static_cast<float>(in_group == 0 ? 127 : (col * 37) % 255 - 127));
      } else if (format == WeightFormat::kInt4) {
        values.push_back(scale * static_cast<float>(in_group % 16) - 3.0f);
      } else {
        // All groups have the same scale, so their mean, which nf4-double holds, is the scale.
        values.push_back(2.5f * kNf4Quantiles[static_cast<size_t>((in_group + row) % 16)]);
      }
    }
  return values;
}

TEST(Quantized, ValuesThatTheCodesHoldComeBackBitForBit) {
  for (WeightFormat format : kCodeFormats)
    for (int64_t rows : {1, 64, 67})
      for (int64_t cols : {32, 64, 128, 160, 256}) {
        const std::vector<float> values = values_that_codes_hold(format, rows, cols);
        EXPECT_EQ(held_by(weight_of(values, rows, cols, format)), values)
            << name_of(format) << " [" << rows << ", " << cols << "]";
      }
}

TEST(Quantized, BlocksOfZerosAndOfEqualValuesComeBackExactly) {
  for (WeightFormat format : kCodeFormats) {
    std::vector<float> values = random_values(66 * 192, 3);
    std::fill_n(values.begin() + 192, 192, 0.0f);     // a whole row
    std::fill_n(values.begin() + 5 * 192, 96, 0.0f);  // groups of 64 and 96
    std::fill_n(values.begin() + 6 * 192, 96, 0.375f);
    const std::vector<float> held = held_by(weight_of(values, 66, 192, format));
    EXPECT_EQ(std::count(held.begin() + 192, held.begin() + 2 * 192, 0.0f), 192) << name_of(format);
    if (format == WeightFormat::kInt8) continue;  // one group for a row
    EXPECT_EQ(std::count(held.begin() + 5 * 192, held.begin() + 5 * 192 + 64, 0.0f), 64)
        << name_of(format);
    if (format == WeightFormat::kNf4Double) continue;  // its scales are rounded
    EXPECT_EQ(std::count(held.begin() + 6 * 192, held.begin() + 6 * 192 + 64, 0.375f), 64)
        << name_of(format);
  }
  for (WeightFormat format : kCodeFormats) {
    const std::vector<float> zeros(70 * 33, 0.0f);
    EXPECT_EQ(held_by(weight_of(zeros, 70, 33, format)), zeros) << name_of(format);
  }
}

// Ranges beyond f32, and scales too small for it.
TEST(Quantized, ExtremesOfF32StayFinite) {
  constexpr float kMost = 0x1p127f, kLeast = 0x1p-149f;
  for (WeightFormat format : kCodeFormats)
    for (float extreme : {kMost, kLeast}) {
      std::vector<float> values(64, 0.0f);
      values[0] = extreme;
      values[1] = -extreme;
      for (float held : held_by(weight_of(values, 1, 64, format)))
        EXPECT_LE(std::abs(static_cast<double>(held)), 0x1.000002p0 * static_cast<double>(extreme))
            << name_of(format);
    }
}

// Values between the ends of a range that f32 cannot hold get the nearest code too.
TEST(Quantized, GroupsWiderThanF32HaveTheNearestCodes) {
  const std::vector<float> values = {-3e38f, -1.4e38f, 1e37f, 1e38f, 2.1e38f, 3e38f};
  for (WeightFormat format : kCodeFormats) {
    const std::vector<float> held = held_by(weight_of(values, 1, 6, format));
    const reference::Held want = reference::quantized(format, values, 1, 6);
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(static_cast<double>(held[i]), want.values[i], 0x1p-20 * want.parts[i])
          << name_of(format) << " element " << i;
  }
}

// The mean square error, in units of the scale, of rounding uniform values to the nearest number
// that a code stands for. A cell between two such numbers, of width d, contributes d^3 / 12, and
// the cells fill the range of the values.
double mean_square_of(WeightFormat format) {
  if (format != WeightFormat::kNf4) return 1.0 / 12;
  double sum = 0.0;
  for (size_t i = 1; i < kNf4Quantiles.size(); ++i) {
    const auto width = static_cast<double>(kNf4Quantiles[i] - kNf4Quantiles[i - 1]);
    sum += width * width * width / 12;
  }
  return sum / 2;
}

// In each group, the values that its scale is taken from are held exactly; the others are uniform
// between them. The mean of 2^16 squares of such errors is within 0.5 % (one standard deviation).
TEST(Quantized, MeanSquareErrorOfUniformValuesIsThatOfTheCells) {
  struct Case {
    WeightFormat format;
    int64_t group, exact;
  };
  constexpr int64_t kSide = 256;
  std::mt19937_64 random(11);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(kSide * kSide);
  for (float& value : values) value = uniform(random);
  for (const Case& one : {Case{WeightFormat::kInt8, kSide, 1}, Case{WeightFormat::kInt4, 128, 2},
                          Case{WeightFormat::kNf4, 64, 1}}) {
    const std::vector<float> held = held_by(weight_of(values, kSide, kSide, one.format));
    const auto group = static_cast<size_t>(one.group);
    double square = 0.0;
    std::vector<uint8_t> codes(group);
    for (size_t first = 0; first < values.size(); first += group) {
      const auto scale = static_cast<double>(
          quantize_group(one.format, std::span(values).subspan(first, group), codes.data()).scale);
      for (size_t i = first; i < first + group; ++i) {
        const double error =
            (static_cast<double>(held[i]) - static_cast<double>(values[i])) / scale;
        square += error * error / static_cast<double>(values.size());
      }
    }
    const double want = mean_square_of(one.format) * static_cast<double>(one.group - one.exact) /
                        static_cast<double>(one.group);
    EXPECT_NEAR(square / want, 1.0, 0.02) << name_of(one.format);
  }
}

TEST(Quantized, BytesAreThoseOfCodesAndScales) {
  const auto bytes = [](WeightFormat format) {
    return weight_of(random_values(128 * 512, 3), 128, 512, format).bytes();
  };
  constexpr size_t kWeights = 128 * 512;
  EXPECT_EQ(bytes(WeightFormat::kInt8), kWeights + 128 * 4);
  EXPECT_EQ(bytes(WeightFormat::kInt4), kWeights / 2 + kWeights / 128 * 8);
  EXPECT_EQ(bytes(WeightFormat::kNf4), kWeights / 2 + kWeights / 64 * 4);
  EXPECT_EQ(bytes(WeightFormat::kNf4Double),
            kWeights / 2 + kWeights / 64 + kWeights / 64 / 256 * 4);
  for (WeightFormat format : {WeightFormat::kInt4, WeightFormat::kNf4, WeightFormat::kNf4Double})
    EXPECT_EQ(static_cast<double>(bytes(format)) * 8, bits_per_weight(format) * kWeights)
        << name_of(format);
}

// If the codes of a model fit into memory, the model must also load.
TEST(Quantized, MakingCodesTakesLittleBesideThem) {
  constexpr int64_t kRows = 1024, kCols = 512, kThreads = 2;
  const std::vector<float> values = random_values(kRows * kCols, 3);
  for (WeightFormat format : kCodeFormats) {
    AlignedBuffer::reset_peak();
    const int64_t before = AlignedBuffer::live_bytes();
    const Weight w = weight_of(values, kRows, kCols, format, kThreads);
    // Each thread needs 64 rows in f32 and as bytes; the scales are f32.
    const int64_t beside = kThreads * 64 * kCols * 5 + kRows * kCols / 64 * 4;
    EXPECT_LE(AlignedBuffer::peak_bytes() - before, static_cast<int64_t>(w.bytes()) + beside)
        << name_of(format);
    EXPECT_EQ(AlignedBuffer::live_bytes() - before, static_cast<int64_t>(w.bytes()))
        << name_of(format);
  }
}

TEST(Quantized, BlocksAreReadBackAsTheWhole) {
  for (WeightFormat format : kCodeFormats) {
    const Coded w(130, 97, format, 7);
    for (const auto& [first_row, end_row] : {std::pair{0, 130}, {63, 66}, {129, 130}, {4, 4}})
      for (const auto& [first_col, end_col] : {std::pair{0, 97}, {1, 2}, {15, 74}, {97, 97}}) {
        std::vector<float> want;
        for (int64_t r = first_row; r < end_row; ++r)
          want.insert(want.end(), w.held.begin() + r * 97 + first_col,
                      w.held.begin() + r * 97 + end_col);
        EXPECT_EQ(block_of(w.packed, first_row, end_row, first_col, end_col), want)
            << w.text() << " row " << first_row << " column " << first_col;
      }
  }
}

TEST(Quantized, CodesDoNotDependOnTheNumberOfThreads) {
  const std::vector<float> values = random_values(200 * 170, 3);
  for (WeightFormat format : kCodeFormats)
    EXPECT_EQ(held_by(weight_of(values, 200, 170, format, 1)),
              held_by(weight_of(values, 200, 170, format, 3)))
        << name_of(format);
}

TEST(Quantized, NanAndInfinityAreRefusedWithTheirPlace) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (WeightFormat format : kCodeFormats)
    for (float bad : {std::numeric_limits<float>::quiet_NaN(), kInf, -kInf}) {
      std::vector<float> values = random_values(70 * 40, 3);
      values[66 * 40 + 39] = bad;
      try {
        static_cast<void>(weight_of(values, 70, 40, format));
        FAIL() << "no error";
      } catch (const NotFiniteError& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("row 66, column 39"), std::string::npos) << text;
        EXPECT_NE(text.find(name_of(format)), std::string::npos) << text;
      }
    }
}

TEST(Quantized, InputsInF16AreRefused) {
  try {
    static_cast<void>(weight_of({1.0f}, 1, 1, {WeightFormat::kInt4, DType::kF16}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("f16"), std::string::npos) << error.what();
  }
}

TEST(Quantized, ErrorOfTheFillerReachesTheCaller) {
  const auto fill = [](int64_t, int64_t, void*) { raise("the file ends early"); };
  for (WeightFormat format : kCodeFormats)
    EXPECT_THROW(Weight(200, 8, format, fill, {.threads = 2, .isa = best_isa()}), Error);
}

}  // namespace
}  // namespace reprise::kernels
