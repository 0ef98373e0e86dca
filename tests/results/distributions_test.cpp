// Tests binomial tails against direct sums, and the normal distribution against its table.
#include "results/distributions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace reprise::results {
namespace {

// The definition: Pascal's triangle, row by row, multiplied by powers in long double.
long double direct_cdf(int64_t k, int64_t n, double p) {
  std::vector<long double> row = {1};
  for (int64_t i = 0; i < n; ++i) {
    std::vector<long double> next(row.size() + 1, 0);
    for (size_t j = 0; j < row.size(); ++j) {
      next[j] += row[j] * (1 - static_cast<long double>(p));
      next[j + 1] += row[j] * static_cast<long double>(p);
    }
    row = std::move(next);
  }
  long double sum = 0;
  for (int64_t i = 0; i <= std::min(k, n); ++i) sum += row[static_cast<size_t>(i)];
  return sum;
}

TEST(Binomial, TailsAreTheSumsOfTheirTerms) {
  for (const int64_t n : {0, 1, 2, 7, 64, 301})
    for (const double p : {1e-3, 0.01, 0.3, 0.5, 0.9, 0.999})
      for (int64_t k = -1; k <= n + 1; ++k) {
        const auto expected = static_cast<double>(direct_cdf(k, n, p));
        EXPECT_NEAR(binomial_cdf(k, n, p), expected, 1e-11) << k << " of " << n << ", p " << p;
        // The relative error is checked if the tail is summed directly.
        if (k >= 0 && static_cast<double>(k) < static_cast<double>(n) * p && expected > 1e-290) {
          EXPECT_NEAR(binomial_cdf(k, n, p) / expected, 1, 1e-9) << k << " of " << n;
        }
      }
}

TEST(Binomial, AscendsFromNothingToAll) {
  constexpr int64_t kTrials = 1'000'000;
  double before = 0;
  for (int64_t k = 9000; k <= 11000; k += 50) {
    const double cdf = binomial_cdf(k, kTrials, 0.01);
    EXPECT_GE(cdf, before);
    before = cdf;
  }
  EXPECT_EQ(binomial_cdf(-1, kTrials, 0.01), 0);
  EXPECT_EQ(binomial_cdf(kTrials, kTrials, 0.01), 1);
  // Checks the median and one standard deviation of the normal limit; the continuity correction is
  // 0.2 % here.
  EXPECT_NEAR(binomial_cdf(10000, kTrials, 0.01), 0.5, 5e-3);
  EXPECT_NEAR(binomial_cdf(10099, kTrials, 0.01), 0.8413, 5e-3);
}

TEST(NormalQuantile, AgreesWithTheTable) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-9);
  EXPECT_NEAR(normal_quantile(0.5), 0.0, 1e-9);
  EXPECT_NEAR(normal_quantile(0.0005), -3.290526731491895, 1e-9);
}

TEST(NormalCdf, IsTheQuantilesInverse) {
  EXPECT_NEAR(normal_cdf(1.959963984540054), 0.975, 1e-12);
  for (const double share : {1e-300, 1e-9, 0.3, 0.5, 0.9, 1 - 1e-9}) {
    EXPECT_NEAR(normal_cdf(normal_quantile(share)) / share, 1, 1e-9) << share;
  }
}

}  // namespace
}  // namespace reprise::results
