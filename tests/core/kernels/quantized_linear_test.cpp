// Weights as codes: what they hold, and products with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/base/error.h"
#include "core/kernels/cpu/product_onednn.h"
#include "core/kernels/cpu/quantize.h"
#include "core/kernels/linear.h"
#include "core/kernels/reference/linear.h"
#include "core/kernels/reference/quantize.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using reprise::testing::expect_within;
using reprise::testing::kSmallestNormal;
using reprise::testing::kUnitBf16;
using reprise::testing::kUnitF32;
using reprise::testing::random_values;
using reprise::testing::tensor_of;
using reprise::testing::values_of;

constexpr WeightFormat kFormats[] = {WeightFormat::kInt8, WeightFormat::kInt4, WeightFormat::kNf4,
                                     WeightFormat::kNf4Double};
constexpr WeightFormat kFourBits[] = {WeightFormat::kInt4, WeightFormat::kNf4,
                                      WeightFormat::kNf4Double};
constexpr DType kInputs[] = {DType::kF32, DType::kBF16};

Weight weight_of(const std::vector<float>& values, int64_t rows, int64_t cols, WeightType type,
                 int threads = 2) {
  const auto fill = [&](int64_t first, int64_t end, void* out) {
    std::memcpy(out, values.data() + first * cols,
                static_cast<size_t>((end - first) * cols) * sizeof(float));
  };
  return {rows, cols, type, fill, {.threads = threads, .isa = best_isa()}};
}

std::vector<float> block_of(const Weight& w, int64_t first_row, int64_t end_row, int64_t first_col,
                            int64_t end_col) {
  std::vector<float> values(
      static_cast<size_t>((end_row - first_row) * (end_col - first_col)));
  w.read_block(first_row, end_row, first_col, end_col, values.data());
  return values;
}

std::vector<float> held_by(const Weight& w) { return block_of(w, 0, w.rows(), 0, w.cols()); }

// A matrix of codes, what it holds, and what its definition says of it.
struct Coded {
  int64_t rows, cols;
  WeightType type;
  std::vector<float> values;
  Weight packed;
  std::vector<float> held;
  reference::Held want;

  Coded(int64_t num_rows, int64_t num_cols, WeightType of, uint64_t seed)
      : rows(num_rows),
        cols(num_cols),
        type(of),
        values(random_values(rows * cols, seed)),
        packed(weight_of(values, rows, cols, of)),
        held(held_by(packed)),
        want(reference::quantized(of.format, values, rows, cols)) {}

  [[nodiscard]] std::string text() const {
    return fmt::format("{} times {} [{}, {}]", name_of(type.format), name_of(type.input), rows,
                       cols);
  }
};

// On both sides of panels, units, groups and what divides them: of int4, 129 has one group, 160
// has groups of 32, 192 of 96, 320 of 64, 256 of 128.
constexpr int64_t kColEdges[] = {1,  7,  8,   31,  32,  33,  63,  64,  65, 70,
                                 96, 97, 127, 128, 129, 160, 192, 256, 320};
constexpr int64_t kRowEdges[] = {1, 63, 64, 65, 130};

TEST(Quantized, HoldsWhatTheRuleOfItsFormatSays) {
  uint64_t seed = 1;
  for (WeightFormat format : kFormats)
    for (int64_t rows : kRowEdges)
      for (int64_t cols : kColEdges) {
        const Coded w(rows, cols, format, ++seed);
        for (size_t i = 0; i < w.held.size(); ++i) {
          // Halfway between two numbers, either is right.
          const auto value = static_cast<double>(w.values[i]), held = static_cast<double>(w.held[i]);
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
  for (WeightFormat format : kFormats)
    for (const auto& [shift, scale] : {std::pair{0.0f, 1.0f}, {5.0f, 0.01f}, {-3.0f, 1e-20f},
                                       {0.0f, 1e30f}, {1e-3f, 1e-6f}}) {
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

// Every code, in every group, with scales that f32 holds.
std::vector<float> values_that_codes_hold(WeightFormat format, int64_t rows, int64_t cols) {
  std::vector<float> values;
  const int64_t group = cpu::group_inputs(format, cols);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t col = 0; col < cols; ++col) {
      const int64_t in_group = col % group;
      const float scale = std::ldexp(1.0f, static_cast<int>((row + col / group) % 5) - 3);
      if (format == WeightFormat::kInt8) {
        // 127 in each row: what the scale is taken from
        values.push_back(scale * static_cast<float>(in_group == 0 ? 127 : (col * 37) % 255 - 127));
      } else if (format == WeightFormat::kInt4) {
        values.push_back(scale * static_cast<float>(in_group % 16) - 3.0f);
      } else {
        // One scale for the whole matrix, which is its mean.
        values.push_back(2.5f * cpu::kNf4Quantiles[static_cast<size_t>((in_group + row) % 16)]);
      }
    }
  return values;
}

TEST(Quantized, ValuesThatTheCodesHoldComeBackBitForBit) {
  for (WeightFormat format : kFormats)
    for (int64_t rows : {1, 64, 67})
      for (int64_t cols : {32, 64, 128, 160, 256}) {
        const std::vector<float> values = values_that_codes_hold(format, rows, cols);
        EXPECT_EQ(held_by(weight_of(values, rows, cols, format)), values)
            << name_of(format) << " [" << rows << ", " << cols << "]";
      }
}

TEST(Quantized, BlocksOfZerosAndOfEqualValuesComeBackExactly) {
  for (WeightFormat format : kFormats) {
    std::vector<float> values = random_values(66 * 192, 3);
    std::fill_n(values.begin() + 192, 192, 0.0f);      // a whole row
    std::fill_n(values.begin() + 5 * 192, 96, 0.0f);   // groups of 64 and 96
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
  for (WeightFormat format : kFormats) {
    const std::vector<float> zeros(70 * 33, 0.0f);
    EXPECT_EQ(held_by(weight_of(zeros, 70, 33, format)), zeros) << name_of(format);
  }
}

// Ranges beyond f32, and scales too small for it.
TEST(Quantized, ExtremesOfF32StayFinite) {
  constexpr float kMost = 0x1p127f, kLeast = 0x1p-149f;
  for (WeightFormat format : kFormats)
    for (float extreme : {kMost, kLeast}) {
      std::vector<float> values(64, 0.0f);
      values[0] = extreme;
      values[1] = -extreme;
      for (float held : held_by(weight_of(values, 1, 64, format)))
        EXPECT_LE(std::abs(static_cast<double>(held)), 0x1.000002p0 * static_cast<double>(extreme))
            << name_of(format);
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
  EXPECT_EQ(bytes(WeightFormat::kNf4Double), kWeights / 2 + kWeights / 64 + kWeights / 64 / 256 * 4);
  for (WeightFormat format : kFourBits)
    EXPECT_EQ(static_cast<double>(bytes(format)) * 8, bits_per_weight(format) * kWeights)
        << name_of(format);
}

// A model must load where it fits.
TEST(Quantized, MakingCodesTakesLittleBesideThem) {
  constexpr int64_t kRows = 1024, kCols = 512, kThreads = 2;
  const std::vector<float> values = random_values(kRows * kCols, 3);
  for (WeightFormat format : kFormats) {
    AlignedBuffer::reset_peak();
    const int64_t before = AlignedBuffer::live_bytes();
    const Weight w = weight_of(values, kRows, kCols, format, kThreads);
    // Of each thread 64 rows of f32 and of bytes; the scales in f32.
    const int64_t beside = kThreads * 64 * kCols * 5 + kRows * kCols / 64 * 4;
    EXPECT_LE(AlignedBuffer::peak_bytes() - before, static_cast<int64_t>(w.bytes()) + beside)
        << name_of(format);
    EXPECT_EQ(AlignedBuffer::live_bytes() - before, static_cast<int64_t>(w.bytes()))
        << name_of(format);
  }
}

TEST(Quantized, BlocksAreReadBackAsTheWhole) {
  for (WeightFormat format : kFormats) {
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
  for (WeightFormat format : kFormats)
    EXPECT_EQ(held_by(weight_of(values, 200, 170, format, 1)),
              held_by(weight_of(values, 200, 170, format, 3)))
        << name_of(format);
}

TEST(Quantized, NanAndInfinityAreRefusedWithTheirPlace) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (WeightFormat format : kFormats)
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
  for (WeightFormat format : kFormats)
    EXPECT_THROW(Weight(200, 8, format, fill, {.threads = 2, .isa = best_isa()}), Error);
}

struct Variant {
  bool has_bias = false;
  bool accumulate = false;
  DType out_dtype = DType::kF32;
};

std::vector<float> magnitudes(std::vector<float> values) {
  for (float& value : values) value = std::abs(value);
  return values;
}

// Two roundings in f32 for each product and group at most, of the parts that an output is summed of.
// With bf16 inputs, weights or NF4's numbers are rounded to bf16; results in bf16 once more.
std::vector<double> bounds(const Coded& w, const std::vector<float>& x, int64_t m,
                           const std::vector<double>& want, const std::vector<double>& rest,
                           DType out_dtype) {
  const std::vector<float> parts(w.want.parts.begin(), w.want.parts.end());
  const std::vector<float> sizes = magnitudes(x);
  const std::vector<double> sums = reference::linear(parts, w.rows, w.cols, sizes, m, {});
  const std::vector<double> of_held =
      reference::linear(magnitudes(w.held), w.rows, w.cols, sizes, m, {});
  std::vector<double> bound(want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    bound[i] = static_cast<double>(2 * w.cols + 64) *
               (kUnitF32 * (sums[i] + std::abs(rest[i])) + kSmallestNormal);
    if (w.type.input == DType::kBF16) bound[i] += kUnitBf16 * of_held[i];
    if (out_dtype == DType::kBF16) bound[i] += kUnitBf16 * (std::abs(want[i]) + bound[i]);
  }
  return bound;
}

void check(const Coded& w, int64_t m, const Variant& variant, uint64_t seed,
           const std::vector<Isa>& isas = available_isas()) {
  const std::vector<float> x = random_values(m * w.cols, seed + 1, w.type.input);
  const std::vector<float> bias =
      variant.has_bias ? random_values(w.rows, seed + 2) : std::vector<float>();
  const std::vector<float> before = random_values(m * w.rows, seed + 3);
  std::vector<double> want = reference::linear(w.held, w.rows, w.cols, x, m, bias);
  std::vector<double> rest(want.size());  // what is added to the product
  for (size_t i = 0; i < want.size(); ++i) {
    if (variant.has_bias) rest[i] += std::abs(static_cast<double>(bias[i % bias.size()]));
    if (!variant.accumulate) continue;
    want[i] += static_cast<double>(before[i]);
    rest[i] += std::abs(static_cast<double>(before[i]));
  }
  const Tensor input = tensor_of(x, w.type.input);
  const std::vector<double> bound = bounds(w, x, m, want, rest, variant.out_dtype);
  for (Isa isa : isas) {
    Tensor out = tensor_of(before, variant.out_dtype);
    LinearWorkspace workspace;
    LinearCall{.x = input.data(),
               .m = m,
               .bias = variant.has_bias ? bias.data() : nullptr,
               .out = out.data(),
               .out_dtype = variant.out_dtype,
               .accumulate = variant.accumulate}
        .run(w.packed, workspace, {.threads = 2, .isa = isa});
    expect_within(values_of(out), want, bound,
                  fmt::format("isa {} {} m {} bias {} accumulate {} out {}", name_of(isa), w.text(),
                              m, variant.has_bias, variant.accumulate,
                              name_of(variant.out_dtype)));
  }
}

// Through every path: codes as they stream by, panels expanded for our kernels, tiles for oneDNN's.
constexpr int64_t kInputRows[] = {0, 1, 2, 3, 4, 5, 8, 9, 13, 65, 129};

TEST(QuantizedLinear, EveryEdgeOfRowsColumnsAndInputsMatchesTheReference) {
  uint64_t seed = 1;
  for (WeightFormat format : kFormats)
    for (DType input : kInputs)
      for (int64_t rows : {1, 64, 65})
        for (int64_t cols : {1, 8, 31, 33, 64, 70, 97, 128, 150, 160, 256}) {
          const Coded w(rows, cols, {format, input}, ++seed);
          for (int64_t m : kInputRows) check(w, m, {}, seed);
        }
}

TEST(QuantizedLinear, BiasAccumulationAndOutputDtypeCombine) {
  uint64_t seed = 1000;
  for (WeightFormat format : kFormats)
    for (DType input : kInputs) {
      const Coded w(65, 130, {format, input}, ++seed);
      for (int64_t m : {1, 3, 8, 9, 129})
        for (bool has_bias : {false, true}) {
          check(w, m, {.has_bias = has_bias, .out_dtype = DType::kBF16}, seed);
          check(w, m, {.has_bias = has_bias, .accumulate = true}, seed);
        }
    }
}

// Above the size from which streaming forks, and several tiles of outputs and of rows.
TEST(QuantizedLinear, LargeMatricesMatchTheReference) {
  for (WeightFormat format : kFormats)
    for (DType input : kInputs) {
      const Coded w(1030, 384, {format, input}, 5);
      for (int64_t m : {1, 4, 9, 70, 300})
        check(w, m, {.has_bias = true, .accumulate = true}, 6, {best_isa()});
    }
}

// Parts that begin at a panel and inside one, end at the end and before it.
TEST(QuantizedLinear, RowsOfAWeightAreALayerOfTheirOwn) {
  for (WeightFormat format : kFormats)
    for (DType input : kInputs) {
      const Coded w(200, 40, {format, input}, 7);
      for (const auto& [first, end] :
           {std::pair{0, 200}, {64, 128}, {1, 2}, {63, 65}, {100, 200}, {199, 200}, {5, 5}})
        for (int64_t m : {1, 9, 130})
          for (Isa isa : available_isas()) {
            const std::vector<float> x = random_values(m * 40, 8, input);
            const Tensor in = tensor_of(x, input);
            const Context context{.threads = 2, .isa = isa};
            const std::vector<float> bias = random_values(end - first, 9);
            std::vector<float> part(static_cast<size_t>(m * (end - first) + 64), 77.0f);
            LinearWorkspace workspace;
            LinearCall{.x = in.data(), .m = m, .bias = bias.data(), .out = part.data()}.run(
                w.packed.rows(first, end), workspace, context);
            EXPECT_EQ(std::count(part.end() - 64, part.end(), 77.0f), 64);
            part.resize(part.size() - 64);
            const std::vector<float> held(w.held.begin() + first * 40, w.held.begin() + end * 40);
            const std::vector<double> want =
                reference::linear(held, end - first, 40, x, m, bias);
            std::vector<double> bound = reference::linear(magnitudes(held), end - first, 40,
                                                          magnitudes(x), m, {});
            // In f32, 144 roundings of sums of parts that stay below 200.
            for (double& b : bound)
              b = 144 * 200 * kUnitF32 + (input == DType::kBF16 ? kUnitBf16 * b : 0.0);
            expect_within(part, want, bound,
                          fmt::format("{} rows [{}, {}) m {} isa {}", w.text(), first, end, m,
                                      name_of(isa)));
          }
    }
}

TEST(QuantizedLinear, ResultsDoNotDependOnTheNumberOfThreads) {
  for (WeightFormat format : kFormats)
    for (DType input : kInputs) {
      const Coded w(700, 320, {format, input}, 4);
      for (int64_t m : {1, 8, 40, 130}) {
        const Tensor x = tensor_of(random_values(m * w.cols, 5, input), input);
        for (Isa isa : available_isas()) {
          std::vector<float> first;
          for (int threads : {1, 2, 5}) {
            Tensor out(DType::kF32, {m * w.rows});
            LinearWorkspace workspace;
            LinearCall{.x = x.data(), .m = m, .out = out.data()}.run(
                w.packed, workspace, {.threads = threads, .isa = isa});
            if (first.empty()) first = values_of(out);
            EXPECT_EQ(values_of(out), first) << w.text() << " " << name_of(isa) << " " << threads;
          }
        }
      }
    }
}

std::vector<float> product_of(const Coded& w, const void* x, int64_t m, Isa isa) {
  std::vector<float> out(static_cast<size_t>(m * w.rows));
  LinearWorkspace workspace;
  LinearCall{.x = x, .m = m, .out = out.data()}.run(w.packed, workspace,
                                                    {.threads = 1, .isa = isa});
  return out;
}

// A batch of decodes gives what each would give alone.
TEST(QuantizedLinear, StreamedRowsGiveTheBitsOfEachRowAlone) {
  constexpr int64_t kRows = LinearCall::kCodedRows;
  for (WeightFormat format : kFormats) {
    const Coded w(130, 200, format, 4);
    const std::vector<float> x = random_values(kRows * 200, 5);
    for (Isa isa : available_isas()) {
      const std::vector<float> together = product_of(w, x.data(), kRows, isa);
      for (int64_t row = 0; row < kRows; ++row)
        EXPECT_EQ(std::vector(together.begin() + row * 130, together.begin() + (row + 1) * 130),
                  product_of(w, x.data() + row * 200, 1, isa))
            << w.text() << " " << name_of(isa) << " row " << row;
    }
  }
}

// One and two rows of bf16 are added in an order of their own, to keep the processor busy.
TEST(QuantizedLinear, OneOfManyBf16RowsHasTheSameBitsInEveryBatch) {
  if (best_isa() != Isa::kAvx512Bf16 || cpu::product_uses_amx())
    GTEST_SKIP() << "panels are expanded for more than a few rows on this processor";
  for (WeightFormat format : kFormats) {
    const Coded w(130, 300, {format, DType::kBF16}, 4);
    constexpr int64_t kMost = LinearCall::kManyCodedRows;
    const Tensor x = tensor_of(random_values(kMost * 300, 5, DType::kBF16), DType::kBF16);
    const auto first_rows = [&](int64_t m) {
      std::vector<float> out = product_of(w, x.data(), m, best_isa());
      out.resize(3 * 130);
      return out;
    };
    const std::vector<float> want = first_rows(kMost);
    for (int64_t m = 3; m < kMost; ++m)
      EXPECT_EQ(first_rows(m), want) << w.text() << " " << m << " rows";
  }
}

TEST(QuantizedLinear, NanReachesItsOutputsOnly) {
  for (WeightFormat format : kFormats)
    for (DType input : kInputs) {
      const Coded w(3, 40, {format, input}, 4);
      for (int64_t m : {2, 9, 130}) {
        std::vector<float> x = random_values(m * 40, 5, input);
        x[7] = std::numeric_limits<float>::quiet_NaN();
        const Tensor in = tensor_of(x, input);
        for (Isa isa : available_isas()) {
          std::vector<float> out(static_cast<size_t>(m * 3));
          LinearWorkspace workspace;
          LinearCall{.x = in.data(), .m = m, .out = out.data()}.run(w.packed, workspace,
                                                                    {.threads = 1, .isa = isa});
          for (size_t i = 0; i < out.size(); ++i)
            EXPECT_EQ(std::isnan(out[i]), i < 3) << w.text() << " " << name_of(isa) << " " << i;
        }
      }
    }
}

}  // namespace
}  // namespace reprise::kernels
