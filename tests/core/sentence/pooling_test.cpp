// Tests every pooling mode on states that are small enough to pool by hand.
#include "core/sentence/pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/core/model/checkpoint/model_files.h"

namespace reprise::sentence {
namespace {

using model::expect_error;
using Floats = std::vector<float>;

// Three tokens of two dimensions.
const Floats kStates = {1, -2, 3, 4, -1, 1};

Floats pooled(std::vector<PoolingMode> modes, bool normalizes = false,
              const Floats& states = kStates) {
  const Pooling pooling{.modes = std::move(modes), .normalizes = normalizes};
  Floats out(static_cast<size_t>(pooling.width(2)), 99.0f);
  pool(pooling, states, 2, out);
  return out;
}

TEST(Pooling, EachModeIsItsDefinition) {
  EXPECT_EQ(pooled({PoolingMode::kCls}), (Floats{1, -2}));
  EXPECT_EQ(pooled({PoolingMode::kMax}), (Floats{3, 4}));
  EXPECT_EQ(pooled({PoolingMode::kMean}), (Floats{1, 1}));
  EXPECT_EQ(pooled({PoolingMode::kLast}), (Floats{-1, 1}));
  const Floats root = pooled({PoolingMode::kMeanSqrtLength});
  EXPECT_FLOAT_EQ(root[0], 3 / std::sqrt(3.0f));
  EXPECT_FLOAT_EQ(root[1], 3 / std::sqrt(3.0f));
  const Floats weighted = pooled({PoolingMode::kWeightedMean});
  EXPECT_FLOAT_EQ(weighted[0], (1 + 2 * 3 - 3) / 6.0f);
  EXPECT_FLOAT_EQ(weighted[1], (-2 + 2 * 4 + 3) / 6.0f);
}

TEST(Pooling, EachModeKeepsANaNWhereverItStands) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const PoolingMode mode : {PoolingMode::kMax, PoolingMode::kMean,
                                 PoolingMode::kMeanSqrtLength, PoolingMode::kWeightedMean})
    for (size_t token = 0; token < 3; ++token) {
      Floats states = kStates;
      states[2 * token] = nan;
      EXPECT_TRUE(std::isnan(pooled({mode}, false, states)[0])) << name_of(mode) << token;
      EXPECT_FALSE(std::isnan(pooled({mode}, false, states)[1])) << name_of(mode) << token;
    }
}

TEST(Pooling, OneTokenIsItselfInEveryMode) {
  for (const PoolingMode mode :
       {PoolingMode::kCls, PoolingMode::kMax, PoolingMode::kMean, PoolingMode::kMeanSqrtLength,
        PoolingMode::kWeightedMean, PoolingMode::kLast})
    EXPECT_EQ(pooled({mode}, false, {0.5f, -7}), (Floats{0.5f, -7})) << name_of(mode);
}

TEST(Pooling, SeveralModesStandSideBySideAndAreNormalizedTogether) {
  EXPECT_EQ(pooled({PoolingMode::kCls, PoolingMode::kMean}), (Floats{1, -2, 1, 1}));
  const Floats unit = pooled({PoolingMode::kCls, PoolingMode::kMean}, true);
  double squares = 0;
  for (const float value : unit) squares += double{value} * value;
  EXPECT_NEAR(squares, 1.0, 1e-6);
  EXPECT_FLOAT_EQ(unit[1], -2 / std::sqrt(7.0f));
}

TEST(Pooling, ZeroStaysZeroWhereItIsNormalized) {
  EXPECT_EQ(pooled({PoolingMode::kMean}, true, {0, 0}), (Floats{0, 0}));
}

TEST(Pooling, OneTokensStateIsEnoughWhereNoOtherIsLookedAt) {
  using model::HiddenOf;
  EXPECT_EQ((Pooling{.modes = {PoolingMode::kCls}}).needed(), HiddenOf::kFirstToken);
  EXPECT_EQ((Pooling{.modes = {PoolingMode::kLast}}).needed(), HiddenOf::kLastToken);
  EXPECT_EQ((Pooling{.modes = {PoolingMode::kMean}}).needed(), HiddenOf::kEveryToken);
  EXPECT_EQ((Pooling{.modes = {PoolingMode::kCls, PoolingMode::kLast}}).needed(),
            HiddenOf::kEveryToken);
}

TEST(Pooling, NamesReadBackAndOthersGetTheNearest) {
  for (const PoolingMode mode :
       {PoolingMode::kCls, PoolingMode::kMax, PoolingMode::kMean, PoolingMode::kMeanSqrtLength,
        PoolingMode::kWeightedMean, PoolingMode::kLast})
    EXPECT_EQ(parse_pooling(name_of(mode), "x"), mode);
  EXPECT_EQ(parse_pooling("last", "x"), PoolingMode::kLast);
  expect_error([] { (void)parse_pooling("maen", "--pooling"); },
               {"--pooling", "\"maen\"", "did you mean \"mean\""});
}

}  // namespace
}  // namespace reprise::sentence
