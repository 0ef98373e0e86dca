// Tests weights held as codes on the device: the codes equal the CPU's, and products match the
// reference.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/kernels/linear/cuda/coded_weight.h"
#include "core/kernels/linear/linear.h"
#include "core/kernels/linear/reference/linear.h"
#include "tests/core/kernels/device/cuda/device_context.h"
#include "tests/core/kernels/linear/linear_checks.h"
#include "tests/support/coded_weight.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using reprise::testing::Coded;
using reprise::testing::expect_within;
using reprise::testing::held_by;
using reprise::testing::kCodeFormats;
using reprise::testing::kUnitF32;
using reprise::testing::random_values;
using reprise::testing::rounding_bound;
using testing::magnitudes;

constexpr DType kHalves[] = {DType::kBF16, DType::kF16};

struct Call {
  int64_t m = 1;
  bool has_bias = false, accumulate = false;
  DType out_dtype = DType::kF32;
};

class CudaCodedProduct : public reprise::testing::OnDevice {
 protected:
  // The matrix on the device; `coded` is the same matrix on the CPU.
  Weight weight_of(const Coded& coded, DType input) {
    const auto fill = [&](int64_t first, int64_t end, void* out) {
      std::copy(coded.values.begin() + first * coded.cols, coded.values.begin() + end * coded.cols,
                static_cast<float*>(out));
    };
    return {coded.rows, coded.cols, {coded.type.format, input}, fill, context_};
  }
  std::vector<float> product(const WeightRows& w, const std::vector<float>& x, DType input,
                             const Call& call, const std::vector<float>& bias,
                             const std::vector<float>& before) {
    const Tensor device_x = on_device(x, input);
    const Tensor device_bias = on_device(bias, DType::kF32);
    Tensor out = on_device(before, call.out_dtype);
    LinearWorkspace workspace;
    LinearCall{.x = device_x.data(),
               .m = call.m,
               .bias = call.has_bias ? device_bias.as<float>() : nullptr,
               .out = out.data(),
               .out_dtype = call.out_dtype,
               .accumulate = call.accumulate}
        .run(w, workspace, context_);
    return device_values(out);
  }
  // Compares outputs [first, end) with the reference. The bound allows for f32 sums of cols
  // products (two parts of each weight, and what is added), for weights or NF4's quantiles rounded
  // to `input`, for a bias rounded before it is added, and for one rounding of the result.
  void check(const Coded& coded, const Weight& weight, int64_t first, int64_t end,
             const Call& call) {
    const DType input = weight.input_dtype();
    const int64_t outputs = end - first, cols = coded.cols;
    const std::vector<float> x = random_values(call.m * cols, 11, input);
    const std::vector<float> bias = random_values(outputs, 12);
    const std::vector<float> before = random_values(call.m * outputs, 13, call.out_dtype);
    const auto rows_of = [&](const auto& all) {
      return std::vector<float>(all.begin() + first * cols, all.begin() + end * cols);
    };
    const std::vector<float> held = rows_of(coded.held), parts = rows_of(coded.want.parts);
    std::vector<double> want = reference::linear(held, outputs, cols, x, call.m,
                                                 call.has_bias ? bias : std::vector<float>());
    const auto sizes = magnitudes(x);
    const std::vector<double> sums = reference::linear(parts, outputs, cols, sizes, call.m, {});
    const std::vector<double> of_held =
        reference::linear(magnitudes(held), outputs, cols, sizes, call.m, {});
    std::vector<double> bound(want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      const double b = call.has_bias ? std::abs(double{bias[i % bias.size()]}) : 0.0;
      const double old = call.accumulate ? double{before[i]} : 0.0;
      want[i] += old;
      bound[i] = static_cast<double>(2 * cols + 64) * kUnitF32 * (sums[i] + b + std::abs(old)) +
                 rounding_bound(input, of_held[i]) + rounding_bound(call.out_dtype, b);
      bound[i] += rounding_bound(call.out_dtype, std::abs(want[i]) + bound[i]);
    }
    expect_within(product(weight.rows(first, end), x, input, call, bias, before), want, bound,
                  fmt::format("{} rows [{}, {}) m {} to {}{}{} from {}", coded.text(), first, end,
                              call.m, name_of(call.out_dtype), call.has_bias ? ", bias" : "",
                              call.accumulate ? ", added" : "", name_of(input)));
  }
};

TEST_F(CudaCodedProduct, CodesAreThoseOfTheCpu) {
  uint64_t seed = 1;
  for (const WeightFormat format : kCodeFormats)
    for (const auto& [rows, cols] :
         {std::pair<int64_t, int64_t>{1, 1}, {3, 31}, {17, 70}, {65, 192}, {70, 150}, {130, 384}}) {
      const Coded coded(rows, cols, format, ++seed);
      EXPECT_EQ(held_by(weight_of(coded, DType::kBF16)), coded.held) << coded.text();
    }
}

TEST_F(CudaCodedProduct, BlocksOfTheWeightsComeBack) {
  const Coded coded(10, 130, WeightFormat::kInt4, 5);
  const Weight weight = weight_of(coded, DType::kBF16);
  EXPECT_EQ(weight.device(), Device::kCuda);
  EXPECT_EQ(weight.format(), WeightFormat::kInt4);
  std::vector<float> block(2 * 5);
  weight.read_block(3, 5, 124, 129, block.data());
  for (size_t i = 0; i < block.size(); ++i)
    EXPECT_EQ(block[i], coded.held[(3 + i / 5) * 130 + 124 + i % 5]) << i;
}

// Every group size, blocks that are not full, and numbers of inputs that are no multiple of four;
// the rows of x fill no tile, one, or several.
TEST_F(CudaCodedProduct, ProductsMatchTheReference) {
  uint64_t seed = 20;
  for (const WeightFormat format : kCodeFormats)
    for (const int64_t cols : {4, 31, 64, 68, 96, 128, 132, 160, 192, 288, 1280})
      for (const DType input : kHalves) {
        const Coded coded(18, cols, format, ++seed);
        const Weight weight = weight_of(coded, input);
        for (const int64_t m : {1, 7, 8, 9, 17, 33}) check(coded, weight, 0, 18, {.m = m});
      }
}

TEST_F(CudaCodedProduct, BiasAccumulationAndOutputDtypeCombine) {
  uint64_t seed = 200;
  for (const WeightFormat format : kCodeFormats)
    for (const DType input : kHalves) {
      const Coded coded(35, 136, format, ++seed);
      const Weight weight = weight_of(coded, input);
      for (const int64_t m : {2, 130})
        for (const bool has_bias : {false, true}) {
          check(coded, weight, 0, 35, {.m = m, .has_bias = has_bias, .out_dtype = input});
          check(coded, weight, 0, 35, {.m = m, .has_bias = has_bias, .accumulate = true});
        }
    }
}

TEST_F(CudaCodedProduct, InputsInF32MultiplyExpandedWeights) {
  for (const WeightFormat format : kCodeFormats) {
    const Coded coded(20, 70, format, 7);
    const Weight weight = weight_of(coded, DType::kF32);
    for (const int64_t m : {1, 9}) check(coded, weight, 0, 20, {.m = m, .has_bias = true});
  }
}

// Parts of the outputs that begin at a panel of 64 or inside one, and end at the matrix's end or
// before it.
TEST_F(CudaCodedProduct, SomeRowsAreALayerOfTheirOwn) {
  for (const WeightFormat format : kCodeFormats) {
    const Coded coded(150, 72, format, 8);
    const Weight weight = weight_of(coded, DType::kBF16);
    for (const auto& [first, end] :
         {std::pair{0, 150}, {64, 128}, {1, 2}, {63, 65}, {100, 150}, {149, 150}})
      for (const int64_t m : {1, 12, 129})
        check(coded, weight, first, end, {.m = m, .has_bias = true});
  }
}

// More outputs than a tile of expanded weights has.
TEST_F(CudaCodedProduct, ManyOutputsTakeTheExpandedTilesInTurn) {
  constexpr int64_t kCols = 16384;
  constexpr int64_t kRows = cuda::ExpandedTile::kBytes / (4 * kCols) + 3;
  std::vector<float> values(static_cast<size_t>(kRows * kCols), 0.0f);
  for (int64_t row = 0; row < kRows; ++row)
    values[static_cast<size_t>(row * kCols + row)] = static_cast<float>(row % 100 + 1);
  const Weight weight(
      kRows, kCols, {WeightFormat::kInt8, DType::kF32},
      [&](int64_t first, int64_t end, void* out) {
        std::copy(values.begin() + first * kCols, values.begin() + end * kCols,
                  static_cast<float*>(out));
      },
      context_);
  std::vector<float> x(static_cast<size_t>(2 * kCols), 0.0f);
  for (int64_t row = 0; row < kRows; ++row) x[static_cast<size_t>(row)] = 1.0f;  // row 0 only
  const std::vector<float> bias(static_cast<size_t>(kRows), 0.5f);
  const std::vector<float> out = product(weight, x, DType::kF32, {.m = 2, .has_bias = true}, bias,
                                         std::vector<float>(static_cast<size_t>(2 * kRows)));
  for (int64_t row = 0; row < kRows; ++row) {
    EXPECT_NEAR(out[static_cast<size_t>(row)], static_cast<double>(row % 100) + 1.5, 1e-4) << row;
    EXPECT_EQ(out[static_cast<size_t>(kRows + row)], 0.5f) << row;
  }
}

// In decoding batches, the bits of a sequence must not depend on its neighbours.
TEST_F(CudaCodedProduct, ARowOfFewDoesNotDependOnTheOthers) {
  for (const WeightFormat format : kCodeFormats) {
    const Coded coded(33, 260, format, 9);
    const Weight weight = weight_of(coded, DType::kBF16);
    const std::vector<float> x = random_values(40 * 260, 10, DType::kBF16);
    const std::vector<float> all =
        product(weight, x, DType::kBF16, {.m = 40}, {1.0f}, std::vector<float>(40 * 33));
    for (const int64_t row : {0, 9, 39}) {
      const std::vector<float> own(x.begin() + row * 260, x.begin() + (row + 1) * 260);
      const std::vector<float> alone =
          product(weight, own, DType::kBF16, {.m = 1}, {1.0f}, std::vector<float>(33));
      EXPECT_EQ(alone, std::vector<float>(all.begin() + row * 33, all.begin() + (row + 1) * 33))
          << coded.text() << " row " << row;
    }
  }
}

// Steps of one shape are recorded and replayed, and nothing may be allocated while they are
// recorded.
TEST_F(CudaCodedProduct, ProductsAreRecordedAndReplayed) {
  const Coded coded(35, 136, WeightFormat::kInt4, 6);
  const Weight weight = weight_of(coded, DType::kBF16);
  const Tensor bias = on_device(random_values(35, 1), DType::kF32);
  for (const int64_t m : {3, 130}) {
    const Tensor x = on_device(random_values(m * 136, 2, DType::kBF16), DType::kBF16);
    Tensor out(DType::kBF16, {m, 35}, context_.runtime);
    LinearWorkspace workspace;
    std::vector<std::vector<float>> outputs;
    for (int again = 0; again < 3; ++again) {
      device_->run_repeatedly({static_cast<uint64_t>(m)}, [&] {
        LinearCall{.x = x.data(),
                   .m = m,
                   .bias = bias.as<float>(),
                   .out = out.data(),
                   .out_dtype = DType::kBF16}
            .run(weight, workspace, context_);
      });
      outputs.push_back(device_values(out));
    }
    EXPECT_EQ(outputs[1], outputs[0]) << m;
    EXPECT_EQ(outputs[2], outputs[0]) << m;
  }
  EXPECT_GT(device_->graphs().replays(), 0);
}

TEST_F(CudaCodedProduct, NotANumberIsNamed) {
  Coded coded(70, 40, WeightFormat::kNf4, 3);
  coded.values[66 * 40 + 7] = std::numeric_limits<float>::quiet_NaN();
  try {
    weight_of(coded, DType::kBF16);
    FAIL() << "a NaN has no code";
  } catch (const NotFiniteError& error) {
    EXPECT_NE(std::string(error.what()).find("row 66, column 7"), std::string::npos)
        << error.what();
  }
}

TEST_F(CudaCodedProduct, BytesAreThoseOfCodesAndScales) {
  const Coded coded(64, 256, WeightFormat::kInt4, 4);
  EXPECT_EQ(weight_of(coded, DType::kBF16).bytes(), 64u * (256 / 2 + 2 * 2 * sizeof(float)));
}

}  // namespace
}  // namespace reprise::kernels
