// Tests the values of made-up sequences' tokens: equal where shared, otherwise different, and
// repeatable.
#include "experiments/kinds/attention/token_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/experiments/kinds/attention/naive_attention.h"

namespace reprise::experiments {
namespace {

constexpr AttentionProblem kProblem = {.batch = 4,
                                       .heads = 4,
                                       .kv_heads = 2,
                                       .head_dim = 16,
                                       .prompt_tokens = 20,
                                       .shared_tokens = 12};

bool equal(std::span<const float> a, std::span<const float> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

TEST(TokenValues, SharedTokensAreTheSameInAllSequencesAndPrivateOnesAreNot) {
  const TokenValues values(kProblem);
  EXPECT_EQ(values.key(0, 3).size(), 32u);
  EXPECT_EQ(values.query(0, 3).size(), 64u);
  EXPECT_TRUE(equal(values.key(0, 11), values.key(3, 11)));
  EXPECT_FALSE(equal(values.key(0, 12), values.key(3, 12)));
  EXPECT_FALSE(equal(values.key(0, 3), values.key(0, 4)));
  EXPECT_FALSE(equal(values.key(0, 3), values.value(0, 3)));
}

TEST(TokenValues, SeedDecidesAll) {
  AttentionProblem other = kProblem;
  other.seed = 2;
  EXPECT_TRUE(equal(TokenValues(kProblem).key(1, 15), TokenValues(kProblem).key(1, 15)));
  EXPECT_FALSE(equal(TokenValues(kProblem).key(1, 15), TokenValues(other).key(1, 15)));
}

TEST(TokenValues, HaveMeanZeroAndVarianceOne) {
  const TokenValues values(kProblem);
  double sum = 0, squares = 0;
  int64_t count = 0;
  for (int64_t sequence = 0; sequence < 400; ++sequence)
    for (const float x : values.key(sequence, 15)) {
      sum += static_cast<double>(x);
      squares += static_cast<double>(x) * static_cast<double>(x);
      ++count;
    }
  // With 12800 numbers, the mean has a standard deviation of 0.009, and the mean of the squares one
  // of 0.008.
  EXPECT_NEAR(sum / static_cast<double>(count), 0.0, 0.05);
  EXPECT_NEAR(squares / static_cast<double>(count), 1.0, 0.05);
}

TEST(TokenValues, AttentionOverOneKeyIsItsValue) {
  const TokenValues values(kProblem);
  const std::vector<double> o = naive_attention(kProblem, values, 2, 3, 1);
  const auto v = values.value(2, 0);
  for (size_t c = 0; c < 16; ++c) EXPECT_DOUBLE_EQ(o[c], static_cast<double>(v[16 + c]));
}

TEST(TokenValues, AttentionOverTwoKeysWeighsThemByTheirScores) {
  const TokenValues values(kProblem);
  const auto q = values.query(0, 1);
  double scores[2] = {0, 0};
  for (int64_t t = 0; t < 2; ++t)
    for (size_t c = 0; c < 16; ++c)
      scores[t] += static_cast<double>(q[c]) * static_cast<double>(values.key(0, t)[c]) / 4.0;
  const double first = 1 / (1 + std::exp(scores[1] - scores[0]));
  const double expected = first * static_cast<double>(values.value(0, 0)[5]) +
                          (1 - first) * static_cast<double>(values.value(0, 1)[5]);
  EXPECT_NEAR(naive_attention(kProblem, values, 0, 0, 2)[5], expected, 1e-12);
}

}  // namespace
}  // namespace reprise::experiments
