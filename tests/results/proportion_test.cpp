// Tests intervals and tests of shares against published values and against counting all outcomes.
#include "results/proportion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace reprise::results {
namespace {

struct Published {
  int64_t successes, trials;
  double low, high;
};

// The table is from Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
TEST(WilsonInterval, AgreesWithThePublishedTable) {
  for (const Published& row :
       {Published{81, 263, 0.2553, 0.3662}, Published{15, 148, 0.0624, 0.1605},
        Published{0, 20, 0, 0.1611}, Published{1, 29, 0.0061, 0.1718}}) {
    const Interval interval = wilson_interval(row.successes, row.trials, 0.95);
    EXPECT_NEAR(interval.low, row.low, 5e-5) << row.successes << " of " << row.trials;
    EXPECT_NEAR(interval.high, row.high, 5e-5) << row.successes << " of " << row.trials;
  }
}

TEST(WilsonInterval, EndsAreTheSharesThatTheScoreTestJustRejects) {
  const double z = 2.5758293035489004;  // quantile for 99 %
  for (const int64_t trials : {1, 7, 200})
    for (int64_t successes = 0; successes <= trials; ++successes) {
      const Interval interval = wilson_interval(successes, trials, 0.99);
      const double share = static_cast<double>(successes) / static_cast<double>(trials);
      for (const double p : {interval.low, interval.high}) {
        if (p == 0 || p == 1) continue;
        const double error = std::sqrt(p * (1 - p) / static_cast<double>(trials));
        EXPECT_NEAR(std::abs(share - p), z * error, 1e-9) << successes << " of " << trials;
      }
      EXPECT_EQ(interval.low == 0, successes == 0);
      EXPECT_EQ(interval.high == 1, successes == trials);
      EXPECT_LE(interval.low, share);
      EXPECT_GE(interval.high, share);
    }
}

TEST(WilsonInterval, TurnsRoundWithRightAndWrong) {
  const Interval right = wilson_interval(3, 17, 0.9), wrong = wilson_interval(14, 17, 0.9);
  EXPECT_NEAR(right.low, 1 - wrong.high, 1e-12);
  EXPECT_NEAR(right.high, 1 - wrong.low, 1e-12);
}

// The share of the 2^n possible outcomes of the n differing questions that are at least as uneven
// as the observed one.
double enumerated_p(int first, int second) {
  const int n = first + second;
  int as_far = 0;
  for (uint32_t sides = 0; sides < (1u << n); ++sides)
    as_far += std::abs(2 * std::popcount(sides) - n) >= std::abs(first - second) ? 1 : 0;
  return as_far / std::exp2(static_cast<double>(n));
}

TEST(McNemar, AgreesWithCountingEveryOutcome) {
  for (int first = 0; first <= 7; ++first)
    for (int second = 0; second <= 7; ++second)
      EXPECT_NEAR(mcnemar_p(first, second), enumerated_p(first, second), 1e-12)
          << first << " and " << second;
}

// The p values of the two-sided sign test are 2 sum C(n, k) / 2^n as exact fractions: 22 / 1024 for
// 1 of 10, 43400 / 2^20 for 5 of 20. The last case is Agresti's approval of a prime minister (150
// and 86 changed their minds), whose z is 4.2.
TEST(McNemar, AgreesWithExactFractions) {
  EXPECT_NEAR(mcnemar_p(1, 9), 0.021484375, 1e-12);
  EXPECT_NEAR(mcnemar_p(15, 5), 0.04138946533203125, 1e-12);
  EXPECT_NEAR(mcnemar_p(150, 86), 3.715936139571442e-05, 1e-12);
}

TEST(McNemar, NoQuestionAnsweredDifferentlyIsNoEvidence) {
  EXPECT_EQ(mcnemar_p(0, 0), 1.0);
  EXPECT_EQ(mcnemar_p(3, 3), 1.0);
  EXPECT_EQ(mcnemar_p(3, 2), 1.0);
  EXPECT_EQ(mcnemar_p(4, 2), mcnemar_p(2, 4));
}

TEST(McNemar, ThousandsOfQuestionsDoNotOverflow) {
  EXPECT_EQ(mcnemar_p(4000, 4000), 1.0);
  const double p = mcnemar_p(4000, 4300);
  const double z = (300.0 - 1) / std::sqrt(8300.0);  // the normal tail with continuity correction
  EXPECT_NEAR(p, std::erfc(z / std::sqrt(2.0)), 1e-4);
  EXPECT_EQ(mcnemar_p(0, 5000), 0.0);
}

}  // namespace
}  // namespace reprise::results
