// Tests rank tests against published tables and against counting all outcomes.
#include "results/rank_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "core/base/random.h"

namespace reprise::results {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> values;
  for (int i = 1; i <= n; ++i) values.push_back(i);
  return values;
}

// The share of the 2^n sign patterns of |d| whose positive rank sum is at least as far from the
// middle as d's.
double enumerated_signed_rank_p(const std::vector<double>& d) {
  const auto rank_of = [&](double value) {
    double rank = 0.5;
    for (const double other : d)
      rank += std::abs(other) < std::abs(value)    ? 1.0
              : std::abs(other) == std::abs(value) ? 0.5
                                                   : 0.0;
    return rank;
  };
  double total = 0.0, seen = 0.0;
  for (const double value : d) {
    total += rank_of(value);
    seen += value > 0 ? rank_of(value) : 0.0;
  }
  int as_far = 0;
  for (uint32_t signs = 0; signs < (1u << d.size()); ++signs) {
    double sum = 0.0;
    for (size_t i = 0; i < d.size(); ++i) sum += (signs >> i & 1u) != 0 ? rank_of(d[i]) : 0.0;
    as_far += std::abs(sum - total / 2) >= std::abs(seen - total / 2) - 1e-9 ? 1 : 0;
  }
  return as_far / std::exp2(static_cast<double>(d.size()));
}

TEST(SignedRank, AgreesWithCountingEverySignPattern) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> d;
    for (uint64_t i = 0; i < 9; ++i)  // few values, so that many seeds have ties
      d.push_back(std::floor(12 * random_unit(seed, 0, i)) - 4.5);
    EXPECT_NEAR(signed_rank_p(d), enumerated_signed_rank_p(d), 1e-12) << "seed " << seed;
  }
}

TEST(SignedRank, AgreesWithThePublishedTable) {
  // For two-sided 0.05, the critical values of W for n = 6 to 10 are 0, 2, 3, 5 and 8; for n = 20
  // it is 52.
  const auto p_of = [](int n, int w) {
    std::vector<double> d = one_to(n);  // negative ranks that add up to w
    for (int rank = n, left = w; rank > 0; --rank)
      if (rank <= left) {
        d[static_cast<size_t>(rank) - 1] *= -1;
        left -= rank;
      }
    return signed_rank_p(d);
  };
  const int sizes[] = {6, 7, 8, 9, 10, 20}, critical[] = {0, 2, 3, 5, 8, 52};
  for (size_t i = 0; i < std::size(sizes); ++i) {
    EXPECT_LE(p_of(sizes[i], critical[i]), 0.05) << sizes[i];
    EXPECT_GT(p_of(sizes[i], critical[i] + 1), 0.05) << sizes[i];
  }
}

TEST(SignedRank, NoDifferenceIsNoEvidence) {
  EXPECT_EQ(signed_rank_p(std::vector<double>{0.0, 0.0}), 1.0);
  EXPECT_EQ(signed_rank_p(std::vector<double>{0.0, 3.0}), 1.0);
}

TEST(PairedShift, IsTheMedianOfWalshAverages) {
  // The Walsh averages of {1, 2, 9} are 1, 1.5, 2, 5, 5.5, 9.
  EXPECT_EQ(paired_shift(std::vector<double>{9, 1, 2}, 0.05).estimate, 3.5);
  EXPECT_EQ(paired_shift(std::vector<double>{4}, 0.05).estimate, 4);
}

TEST(PairedShift, IntervalHoldsExactlyTheShiftsThatTheTestDoesNotReject) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    std::vector<double> d;
    for (uint64_t i = 0; i < 14; ++i) d.push_back(random_unit(seed, 1, i) - 0.3);
    const double alpha = 0.02;
    const Shift shift = paired_shift(d, alpha);
    const auto p_about = [&](double centre) {
      std::vector<double> moved = d;
      for (double& value : moved) value -= centre;
      return signed_rank_p(moved);
    };
    constexpr double kStep = 1e-9;
    EXPECT_LE(p_about(shift.low - kStep), alpha);
    EXPECT_GT(p_about(shift.low + kStep), alpha);
    EXPECT_GT(p_about(shift.high - kStep), alpha);
    EXPECT_LE(p_about(shift.high + kStep), alpha);
    EXPECT_LT(shift.low, shift.estimate);
    EXPECT_GT(shift.high, shift.estimate);
  }
}

TEST(PairedShift, TooFewSamplesForTheLevelBoundNothing) {
  const std::vector<double> d = one_to(5);  // the smallest two-sided level is 2 / 32
  EXPECT_TRUE(std::isinf(paired_shift(d, 0.06).low));
  EXPECT_EQ(paired_shift(d, 0.0625).low, 1);
  EXPECT_EQ(paired_shift(d, 0.0625).high, 5);
}

TEST(PairedShift, OneWildSampleMovesLittle) {
  std::vector<double> d = one_to(20);
  const double before = paired_shift(d, 0.05).estimate;
  d.back() = 1e9;
  EXPECT_NEAR(paired_shift(d, 0.05).estimate, before, 1.0);
}

TEST(RankSum, AgreesWithCountingEveryOrder) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> x, y, all;
    for (uint64_t i = 0; i < 5; ++i) x.push_back(random_unit(seed, 2, i));
    for (uint64_t i = 0; i < 7; ++i) y.push_back(0.3 + random_unit(seed, 3, i));
    all = x;
    all.insert(all.end(), y.begin(), y.end());
    const auto pairs_above = [&](uint32_t chosen) {
      int above = 0;
      for (size_t i = 0; i < 12; ++i)
        for (size_t j = 0; j < 12; ++j)
          above += (chosen >> i & 1u) == 0 && (chosen >> j & 1u) != 0 && all[j] > all[i] ? 1 : 0;
      return above;
    };
    const int seen = pairs_above(0xfe0);  // y stands at 5 to 11
    int as_far = 0, orders = 0;
    for (uint32_t chosen = 0; chosen < (1u << 12); ++chosen) {
      if (std::popcount(chosen) != 7) continue;
      ++orders;
      as_far += std::abs(2 * pairs_above(chosen) - 35) >= std::abs(2 * seen - 35) ? 1 : 0;
    }
    EXPECT_NEAR(rank_sum_p(x, y), static_cast<double>(as_far) / orders, 1e-12) << "seed " << seed;
  }
}

TEST(RankSum, AgreesWithThePublishedTable) {
  // For two-sided 0.05, the critical value of U is 2 for 5 and 5, and 23 for 10 and 10.
  const auto p_of = [](int n, int u) {
    std::vector<double> x = one_to(n), y;
    for (int i = 1; i <= n; ++i) y.push_back(n + i);
    for (int i = 0; u > 0; ++i) {  // moves y_i below up to n of the x
      const int passed = std::min(u, n);
      y[static_cast<size_t>(i)] = n - passed + 0.5;
      u -= passed;
    }
    return rank_sum_p(x, y);
  };
  EXPECT_LE(p_of(5, 2), 0.05);
  EXPECT_GT(p_of(5, 3), 0.05);
  EXPECT_LE(p_of(10, 23), 0.05);
  EXPECT_GT(p_of(10, 24), 0.05);
}

TEST(UnpairedShift, IntervalHoldsExactlyTheShiftsThatTheTestDoesNotReject) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    std::vector<double> x, y;
    for (uint64_t i = 0; i < 11; ++i) x.push_back(random_unit(seed, 4, i));
    for (uint64_t i = 0; i < 8; ++i) y.push_back(0.2 + random_unit(seed, 5, i));
    const double alpha = 0.02;
    const Shift shift = unpaired_shift(x, y, alpha);
    const auto p_about = [&](double centre) {
      std::vector<double> moved = y;
      for (double& value : moved) value -= centre;
      return rank_sum_p(x, moved);
    };
    constexpr double kStep = 1e-9;
    EXPECT_LE(p_about(shift.low - kStep), alpha);
    EXPECT_GT(p_about(shift.low + kStep), alpha);
    EXPECT_GT(p_about(shift.high - kStep), alpha);
    EXPECT_LE(p_about(shift.high + kStep), alpha);
  }
}

TEST(RankSum, TiesAreNoEvidence) {
  EXPECT_EQ(rank_sum_p(std::vector<double>{1, 1, 1}, std::vector<double>{1, 1, 1}), 1.0);
}

}  // namespace
}  // namespace reprise::results
