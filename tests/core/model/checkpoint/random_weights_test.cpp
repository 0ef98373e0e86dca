// Random weights do not depend on who reads them or how, and have the promised moments.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "core/device/context.h"
#include "core/device/cpu.h"
#include "core/model/checkpoint/random_fill.h"
#include "core/model/checkpoint/weights.h"

namespace reprise::model {
namespace {

constexpr TensorSpec kMatrix{
    .role = {.part = Part::kUp, .layer = 3}, .rows = 67, .cols = 101};  // odd, odd

std::vector<float> read(const WeightSource& source, const TensorSpec& tensor, int64_t first,
                        int64_t end) {
  std::vector<float> values(static_cast<size_t>((end - first) * tensor.cols));
  source.read_rows(tensor, first, end, DType::kF32, values.data());
  return values;
}

struct Moments {
  double mean, deviation;
};
Moments moments_of(const std::vector<float>& values) {
  double sum = 0.0, squares = 0.0;
  for (const float value : values) sum += value, squares += double{value} * value;
  const auto count = static_cast<double>(values.size());
  return {sum / count, std::sqrt(squares / count)};
}

TEST(RandomWeights, RowsDoNotDependOnTheRangeTheyAreReadIn) {
  const auto source = random_weights({}, 7);
  const std::vector<float> whole = read(*source, kMatrix, 0, kMatrix.rows);
  for (int64_t row = 0; row < kMatrix.rows; ++row) {
    const std::vector<float> one = read(*source, kMatrix, row, row + 1);
    ASSERT_TRUE(std::equal(one.begin(), one.end(), whole.begin() + row * kMatrix.cols)) << row;
  }
  EXPECT_TRUE(read(*source, kMatrix, 5, 5).empty());
}

TEST(RandomWeights, EveryDtypeHoldsTheSameNumbers) {
  const auto source = random_weights({}, 7);
  const std::vector<float> expected = read(*source, kMatrix, 0, kMatrix.rows);
  std::vector<bf16> brain(expected.size());
  source->read_rows(kMatrix, 0, kMatrix.rows, DType::kBF16, brain.data());
  std::vector<f16> half(expected.size());
  source->read_rows(kMatrix, 0, kMatrix.rows, DType::kF16, half.data());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(float(brain[i]), expected[i]) << i;
    ASSERT_EQ(half[i].bits, f16(expected[i]).bits) << i;
  }
}

TEST(RandomWeights, EveryInstructionSetComputesTheSameBits) {
  for (const size_t count : {0, 1, 7, 8, 15, 16, 17, 1000}) {
    std::vector<uint32_t> expected(count), words(count);
    const float half_step = 0.0123f;
    fill_uniform_bf16(0x0123456789abcdefu, 0xfffffff0u, half_step, expected, Isa::kPortable);
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      if (isa > best_isa()) continue;
      fill_uniform_bf16(0x0123456789abcdefu, 0xfffffff0u, half_step, words, isa);
      EXPECT_EQ(words, expected) << name_of(isa) << " " << count;
    }
  }
}

TEST(RandomWeights, FirstNumbersAreTheOnesOfEveryRelease) {
  const auto source = random_weights({}, 1);
  const TensorSpec tensor{.role = {.part = Part::kEmbedding}, .rows = 1, .cols = 4};
  EXPECT_EQ(read(*source, tensor, 0, 1),
            (std::vector<float>{-1.015625f, 0.349609375f, 1.3046875f, 1.6015625f}));
}

TEST(RandomWeights, SeedRoleAndLayerEachChangeTheNumbers) {
  TensorSpec other_layer = kMatrix, other_role = kMatrix;
  other_layer.role.layer = 4;
  other_role.role.part = Part::kDown;
  const auto source = random_weights({}, 7), other_seed = random_weights({}, 8);
  std::set<std::vector<float>> seen;
  seen.insert(read(*source, kMatrix, 0, kMatrix.rows));
  seen.insert(read(*source, other_layer, 0, kMatrix.rows));
  seen.insert(read(*source, other_role, 0, kMatrix.rows));
  seen.insert(read(*other_seed, kMatrix, 0, kMatrix.rows));
  EXPECT_EQ(seen.size(), 4u);
}

// Tolerances are 5 standard errors. For N uniform values with standard deviation d, the mean's
// standard error is d / sqrt(N), and the deviation's is d * sqrt(0.2 / N), because the fourth
// moment of a uniform is 1.8 d^4.
TEST(RandomWeights, MomentsAreThePromisedOnes) {
  const auto source = random_weights({}, 11);
  struct Case {
    TensorSpec tensor;
    double deviation;
  };
  const int64_t rows = 512, cols = 768;
  for (const Case& c : {Case{{{Part::kEmbedding}, rows, cols}, 1.0},
                        Case{{{Part::kQkv, 2}, rows, cols}, 1.0 / std::sqrt(768.0)},
                        Case{{{Part::kUp, 2, -1, true}, 1, rows * cols}, 0.02}}) {
    const std::vector<float> values = read(*source, c.tensor, 0, c.tensor.rows);
    const auto count = static_cast<double>(values.size());
    const Moments moments = moments_of(values);
    EXPECT_NEAR(moments.mean, 0.0, 5 * c.deviation / std::sqrt(count));
    EXPECT_NEAR(moments.deviation, c.deviation, 5 * c.deviation * std::sqrt(0.2 / count));
    double neighbours = 0.0, rows_apart = 0.0;  // correlations: also 5 standard errors of 0
    for (size_t i = 0; i + 768 < values.size(); ++i) {
      neighbours += double{values[i]} * values[i + 1];
      rows_apart += double{values[i]} * values[i + 768];
    }
    const double bound = 5 * c.deviation * c.deviation * std::sqrt(count);
    EXPECT_LT(std::abs(neighbours), bound);
    EXPECT_LT(std::abs(rows_apart), bound);
  }
}

TEST(RandomWeights, DifferentTensorsAreUncorrelated) {
  const auto source = random_weights({}, 3);
  const TensorSpec a{{Part::kQkv, 0}, 256, 256}, b{{Part::kQkv, 1}, 256, 256};
  const std::vector<float> x = read(*source, a, 0, 256), y = read(*source, b, 0, 256);
  double product = 0.0;
  for (size_t i = 0; i < x.size(); ++i) product += double{x[i]} * y[i];
  EXPECT_LT(std::abs(product), 5 * std::sqrt(65536.0) / 256.0);
}

TEST(RandomWeights, NormWeightsAreOne) {
  const auto source = random_weights({}, 3);
  for (const Part part : {Part::kNorm1, Part::kNorm2, Part::kFinalNorm})
    for (const float value : read(*source, {{part, 0}, 1, 33}, 0, 1)) EXPECT_EQ(value, 1.0f);
}

TEST(RandomWeights, ManyThreadsReadTheSame) {
  const auto source = random_weights({}, 7);
  const std::vector<float> whole = read(*source, kMatrix, 0, kMatrix.rows);
  std::vector<float> pieces(whole.size());
  parallel_for(Context{.threads = 4}, kMatrix.rows, [&](int64_t row, int) {
    source->read_rows(kMatrix, row, row + 1, DType::kF32, pieces.data() + row * kMatrix.cols);
  });
  EXPECT_EQ(pieces, whole);
}

// Matrices above 2^33 elements use a second key. Rows on both sides of the seam must look random
// too.
TEST(RandomWeights, RowsAcrossTheBlockSeamAreOrdinary) {
  const auto source = random_weights({}, 7);
  const TensorSpec tensor{{Part::kEmbedding}, int64_t{1} << 24, 1023};
  const int64_t seam_row = (int64_t{1} << 33) / tensor.cols;
  const std::vector<float> both = read(*source, tensor, seam_row - 1, seam_row + 2);
  std::vector<float> apart = read(*source, tensor, seam_row - 1, seam_row);
  for (const int64_t row : {seam_row, seam_row + 1})
    for (const float value : read(*source, tensor, row, row + 1)) apart.push_back(value);
  EXPECT_EQ(both, apart);
  EXPECT_NEAR(moments_of(both).deviation, 1.0, 5 * std::sqrt(0.2 / 3069.0));
}

}  // namespace
}  // namespace reprise::model
