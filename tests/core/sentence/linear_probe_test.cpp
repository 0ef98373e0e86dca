// Tests logistic regression on known minima, and on data that a line can or cannot separate.
#include "core/sentence/linear_probe.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/random.h"
#include "core/sentence/cosine.h"
#include "tests/core/model/checkpoint/model_files.h"

namespace reprise::sentence {
namespace {

using model::expect_error;

struct Labelled {
  std::vector<float> vectors;
  std::vector<uint8_t> labels;
  int64_t width = 0;
  [[nodiscard]] ProbeData data() const { return {vectors, labels, width}; }
};

// Points around 0. Points on the side of `towards` are positive; the share `wrong` of all points is
// mislabelled.
Labelled points(int64_t items, const std::vector<float>& towards, double offset, double wrong,
                uint64_t seed, float stretch = 1.0f) {
  Labelled out{.width = static_cast<int64_t>(towards.size())};
  for (int64_t i = 0; i < items; ++i) {
    double side = offset;
    for (size_t c = 0; c < towards.size(); ++c) {
      const double x = 2 * random_unit(seed, static_cast<uint64_t>(i), c) - 1;
      side += x * double{towards[c]};
      out.vectors.push_back(stretch * static_cast<float>(x));
    }
    const bool is_wrong = random_unit(seed + 100, static_cast<uint64_t>(i), 0) < wrong;
    out.labels.push_back((side > 0) != is_wrong ? 1 : 0);
  }
  return out;
}

// Two points at -1 and 1, one of each class. 2 log(1 + exp(-w)) + w^2 / 2 is smallest where w = 2 /
// (1 + exp(w)), at w = 0.6749...; the boundary lies between the points.
TEST(LinearProbe, TwoPointsHaveAKnownMinimum) {
  const Labelled two{.vectors = {-1, 1}, .labels = {0, 1}, .width = 1};
  const LinearProbe probe = LinearProbe::fit(two.data(), {.penalty = 1});
  EXPECT_EQ(probe.right(two.data()), 2);
  EXPECT_TRUE(probe.is_positive(std::vector<float>{0.01f}));
  EXPECT_FALSE(probe.is_positive(std::vector<float>{-0.01f}));
  EXPECT_EQ(probe.penalty(), 1.0);
}

TEST(LinearProbe, FindsALineThatTellsThemApart) {
  const Labelled training = points(400, {1, -2, 0.5f, 0}, 0.4, 0, 1);
  const Labelled test = points(1000, {1, -2, 0.5f, 0}, 0.4, 0, 2);
  const LinearProbe probe = LinearProbe::fit(training.data());
  EXPECT_GE(probe.right(test.data()), 975);
  // The weak penalties fit best where nothing is mislabelled.
  EXPECT_LE(probe.penalty(), 1.0);
}

// The error of the line's angle falls as the root of the number of items; a tenth of a radian is 3
// % of the points.
TEST(LinearProbe, WrongLabelsCostNoMoreThanTheyMust) {
  const Labelled training = points(3000, {1, -2, 0.5f, 0}, 0, 0.2, 3);
  const Labelled test = points(1000, {1, -2, 0.5f, 0}, 0, 0, 4);
  EXPECT_GE(LinearProbe::fit(training.data()).right(test.data()), 950);
}

// The labels do not depend on the vectors: a fair coin's share is right, within four deviations.
TEST(LinearProbe, OfNoiseItLearnsNothing) {
  const Labelled training = points(300, {0, 0, 0, 0, 0, 0, 0, 0}, 1, 0.5, 5);
  const Labelled test = points(1000, {0, 0, 0, 0, 0, 0, 0, 0}, 1, 0.5, 6);
  EXPECT_NEAR(static_cast<double>(LinearProbe::fit(training.data()).right(test.data())), 500, 64);
}

TEST(LinearProbe, NeitherLengthNorRepetitionChangesIt) {
  const Labelled training = points(200, {1, 1}, 0.2, 0.1, 7), test = points(500, {1, 1}, 0.2, 0, 8);
  const Labelled longer = points(200, {1, 1}, 0.2, 0.1, 7, 1000.0f);
  const Labelled longer_test = points(500, {1, 1}, 0.2, 0, 8, 1000.0f);
  const int64_t right = LinearProbe::fit(training.data()).right(test.data());
  EXPECT_EQ(LinearProbe::fit(training.data()).right(test.data()), right);
  EXPECT_NEAR(static_cast<double>(LinearProbe::fit(longer.data()).right(longer_test.data())),
              static_cast<double>(right), 1);
}

TEST(LinearProbe, OneClassOrConstantVectors) {
  Labelled constant{.vectors = std::vector<float>(30, 2.0f), .labels = {}, .width = 3};
  for (int i = 0; i < 10; ++i) constant.labels.push_back(i < 7 ? 1 : 0);
  EXPECT_EQ(LinearProbe::fit(constant.data()).right(constant.data()), 7);  // the larger class
  constant.labels.assign(10, 1);
  expect_error([&] { (void)LinearProbe::fit(constant.data()); }, {"all 10 labels"});
}

TEST(Cosine, IsTheAngleAndZeroHasNone) {
  using Floats = std::vector<float>;
  EXPECT_DOUBLE_EQ(cosine(Floats{1, 0}, Floats{0, 5}), 0.0);
  EXPECT_NEAR(cosine(Floats{1, 1}, Floats{-3, -3}), -1.0, 1e-15);
  EXPECT_NEAR(cosine(Floats{3, 4}, Floats{4, 3}), 24.0 / 25, 1e-15);
  EXPECT_EQ(cosine(Floats{0, 0}, Floats{4, 3}), 0.0);
  EXPECT_TRUE(std::isnan(cosine(Floats{std::nanf(""), 1}, Floats{4, 3})));
}

}  // namespace
}  // namespace reprise::sentence
