// Tests rank correlation against closed forms, and its interval against a slow version that ranks
// each resample again.
#include "results/spearman.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/random.h"
#include "results/record.h"
#include "tests/results/sample_record.h"
#include "tests/support/json.h"

namespace reprise::results {
namespace {

using Numbers = std::vector<double>;

TEST(MeanRanks, EqualValuesShareTheMeanOfTheirPlaces) {
  EXPECT_EQ(mean_ranks(Numbers{30, 10, 20}), (Numbers{3, 1, 2}));
  EXPECT_EQ(mean_ranks(Numbers{2, 1, 2, 2, 5}), (Numbers{3, 1, 3, 3, 5}));
  EXPECT_EQ(mean_ranks(Numbers{7, 7}), (Numbers{1.5, 1.5}));
  EXPECT_EQ(mean_ranks(Numbers{0.0, -0.0, 1}), (Numbers{1.5, 1.5, 3}));
  EXPECT_EQ(mean_ranks(Numbers{4}), Numbers{1});
  EXPECT_TRUE(mean_ranks(Numbers{}).empty());
}

TEST(Spearman, OrdersAndTheirReverse) {
  EXPECT_DOUBLE_EQ(spearman(Numbers{1, 2, 3, 4}, Numbers{-3, 0.5, 7, 1e9}), 1.0);
  EXPECT_DOUBLE_EQ(spearman(Numbers{1, 2, 3, 4}, Numbers{5, 1, 0, -9}), -1.0);
  EXPECT_DOUBLE_EQ(spearman(Numbers{1, 2}, Numbers{2, 1}), -1.0);
}

// Without ties the correlation is 1 - 6 sum d^2 / (n (n^2 - 1)).
TEST(Spearman, WithoutTiesItIsTheSumOfSquaredDifferences) {
  const Numbers x = {106, 100, 86, 101, 99, 103, 97, 113, 112, 110};
  const Numbers y = {7, 27, 2, 50, 28, 29, 20, 12, 6, 17};
  EXPECT_NEAR(spearman(x, y), 1 - 6 * 194.0 / (10 * 99), 1e-15);  // -29/165
  const Numbers same = {3, 1, 2}, other = {1, 3, 2};
  EXPECT_NEAR(spearman(same, other), 1 - 6 * 8.0 / (3 * 8), 1e-15);
}

// With ties it is Pearson's correlation of mean ranks. Here x has ranks 1, 2.5, 2.5, 4 and y has 1,
// 3, 2, 4.
TEST(Spearman, TiesTakeMeanRanks) {
  EXPECT_NEAR(spearman(Numbers{1, 2, 2, 3}, Numbers{1, 3, 2, 4}), 4.5 / std::sqrt(4.5 * 5), 1e-15);
  // Both sides have the tied ranks 1.5, 1.5, 3.5, 3.5.
  EXPECT_DOUBLE_EQ(spearman(Numbers{0, 0, 5, 5}, Numbers{2, 2, 3, 3}), 1.0);
  // The ranks 1.5, 1.5, 3.5, 3.5 and 1.5, 3.5, 1.5, 3.5 have deviations of 1 whose products cancel.
  EXPECT_NEAR(spearman(Numbers{0, 0, 5, 5}, Numbers{2, 3, 2, 3}), 0.0, 1e-15);
}

TEST(Spearman, WhatOrdersNothingCorrelatesWithNothing) {
  EXPECT_EQ(spearman(Numbers{1, 1, 1}, Numbers{1, 2, 3}), 0.0);
  EXPECT_EQ(spearman(Numbers{1, 2, 3}, Numbers{0, 0, 0}), 0.0);
  const Interval interval = bootstrap_spearman(Numbers{1, 1, 1}, Numbers{1, 2, 3});
  EXPECT_EQ(interval.low, 0.0);
  EXPECT_EQ(interval.high, 0.0);
}

TEST(Spearman, NeitherTheOrderOfPairsNorAMonotoneChangeMatters) {
  Numbers x, y, changed;
  for (uint64_t i = 0; i < 40; ++i) {
    x.push_back(std::floor(10 * random_unit(5, 0, i)));
    y.push_back(x.back() + 6 * random_unit(5, 1, i));
    changed.push_back(std::exp(y.back()) - 100);
  }
  const double rho = spearman(x, y);
  EXPECT_DOUBLE_EQ(spearman(x, changed), rho);
  EXPECT_DOUBLE_EQ(spearman(y, x), rho);
  std::reverse(x.begin(), x.end());
  std::reverse(y.begin(), y.end());
  EXPECT_NEAR(spearman(x, y), rho, 1e-15);
}

// The interval by its definition: each resample is ranked again, and so are the values with one
// pair left out.
Interval slow_interval(const Numbers& x, const Numbers& y, const BootstrapOptions& options) {
  const size_t n = x.size();
  const auto of = [&](const std::vector<size_t>& drawn) {
    Numbers a, b;
    for (const size_t i : drawn) {
      a.push_back(x[i]);
      b.push_back(y[i]);
    }
    return spearman(a, b);
  };
  Numbers left_out, resampled;
  for (size_t i = 0; i < n; ++i) {
    std::vector<size_t> others;
    for (size_t j = 0; j < n; ++j)
      if (j != i) others.push_back(j);
    left_out.push_back(of(others));
  }
  for (int64_t r = 0; r < options.resamples; ++r) {
    std::vector<size_t> drawn;
    for (size_t i = 0; i < n; ++i)
      drawn.push_back(random_bits(options.seed, static_cast<uint64_t>(r), i) % n);
    resampled.push_back(of(drawn));
  }
  std::sort(resampled.begin(), resampled.end());
  return bca_interval(resampled, spearman(x, y), bca_acceleration(left_out), options.confidence);
}

TEST(BootstrapSpearman, CountedSamplesRankAsSortedOnesDo) {
  for (const uint64_t seed : {1, 2}) {
    Numbers x, y;
    for (uint64_t i = 0; i < 25; ++i) {
      x.push_back(std::floor(6 * random_unit(seed, 0, i)));  // ties
      y.push_back(x.back() + std::floor(8 * random_unit(seed, 1, i)));
    }
    const BootstrapOptions options{.confidence = 0.9, .resamples = 300, .seed = seed};
    const Interval want = slow_interval(x, y, options), got = bootstrap_spearman(x, y, options);
    EXPECT_NEAR(got.low, want.low, 1e-12);
    EXPECT_NEAR(got.high, want.high, 1e-12);
    EXPECT_LT(got.low, spearman(x, y));
    EXPECT_GT(got.high, spearman(x, y));
  }
}

// For independent lists, the correlation has a standard deviation of 1 / sqrt(n - 1).
TEST(BootstrapSpearman, IsAsWideAsTheoryHasIt) {
  Numbers x, y;
  for (uint64_t i = 0; i < 400; ++i) {
    x.push_back(random_unit(9, 0, i));
    y.push_back(random_unit(9, 1, i));
  }
  const Interval interval = bootstrap_spearman(x, y);
  EXPECT_NEAR(interval.high - interval.low, 2 * 1.96 / std::sqrt(399.0), 0.03);
  EXPECT_LT(interval.low, 0.0);
  EXPECT_GT(interval.high, 0.0);
}

TEST(BootstrapSpearman, PerfectOrderIsAPoint) {
  const Interval interval =
      bootstrap_spearman(Numbers{1, 2, 3, 4, 5, 6}, Numbers{2, 3, 5, 7, 11, 13});
  EXPECT_DOUBLE_EQ(interval.high, 1.0);
  EXPECT_GT(interval.low, 0.9);  // resamples without an order (six equal pairs) are rare
}

// A correlation may be negative, but a time may not.
TEST(Spearman, ARecordKeepsNegativeNumbersThatSayTheyAreSigned) {
  Json record = sample_json("p", "g", 0, 1);
  record["metrics"]["score"] = {{"value", -0.5}, {"unit", "ratio"}};
  EXPECT_NE(line_fault(record).find("score is negative"), std::string::npos);
  record["metrics"]["score"]["signed"] = true;
  EXPECT_EQ(line_fault(record), "");
  record["metrics"]["score"]["signed"] = "yes";
  EXPECT_NE(line_fault(record).find("true or false"), std::string::npos);
}

}  // namespace
}  // namespace reprise::results
