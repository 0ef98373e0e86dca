// Tests the bootstrap: against all resamples, against the plain interval on data without skew, and
// its confidence level on made-up scores.
#include "results/bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "results/distributions.h"
#include "results/statistics.h"

namespace reprise::results {
namespace {

using Samples = std::vector<double>;

double mean_of(const Samples& samples) {
  double sum = 0;
  for (const double x : samples) sum += x;
  return sum / static_cast<double>(samples.size());
}

// Means of all n^n resamples, ascending.
Samples all_means(const Samples& samples) {
  const size_t n = samples.size();
  size_t count = 1;
  for (size_t i = 0; i < n; ++i) count *= n;
  Samples means;
  for (size_t code = 0; code < count; ++code) {
    double sum = 0;
    for (size_t i = 0, rest = code; i < n; ++i, rest /= n) sum += samples[rest % n];
    means.push_back(sum / static_cast<double>(n));
  }
  std::sort(means.begin(), means.end());
  return means;
}

// BCa from all resamples, by its definition. The acceleration leaves out one sample at a time.
Interval exact_bca(const Samples& samples, double confidence) {
  const Samples means = all_means(samples);
  const double mean = mean_of(samples);
  double below = 0;
  for (const double m : means) below += std::abs(m - mean) < 1e-9 ? 0.5 : m < mean ? 1.0 : 0.0;
  const double z0 = normal_quantile(below / static_cast<double>(means.size()));
  Samples left;
  for (size_t i = 0; i < samples.size(); ++i) {
    Samples others = samples;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    left.push_back(mean_of(others));
  }
  const double centre = mean_of(left);
  double squares = 0, cubes = 0;
  for (const double m : left) {
    squares += std::pow(centre - m, 2);
    cubes += std::pow(centre - m, 3);
  }
  const double a = cubes / (6 * std::pow(squares, 1.5));
  const auto end = [&](double share) {
    const double z = z0 + normal_quantile(share);
    return quantile(means, 0.5 * std::erfc(-(z0 + z / (1 - a * z)) / std::sqrt(2.0)));
  };
  return {end((1 - confidence) / 2), end((1 + confidence) / 2)};
}

TEST(BootstrapMean, AgreesWithAllResamples) {
  for (const Samples& samples : {Samples{0, 0.2, 0.3, 0.35, 1}, Samples{1, 2, 3, 4, 5, 6},
                                 Samples{0, 0.1, 0.3, 0.35, 0.8, 1}}) {
    const Interval exact = exact_bca(samples, 0.9);
    const Interval drawn = bootstrap_mean(samples, {.confidence = 0.9, .resamples = 200000});
    const auto [low, high] = std::minmax_element(samples.begin(), samples.end());
    EXPECT_NEAR(drawn.low, exact.low, 0.02 * (*high - *low));
    EXPECT_NEAR(drawn.high, exact.high, 0.02 * (*high - *low));
  }
}

// Data of Efron and Tibshirani (1993), table 2.1: survival times of treated mice, with mean 86.86
// and bootstrap standard error 25.24 * sqrt(6 / 7) = 23.36. A normal interval of 68.27 % extends
// one standard error to either side; the BCa interval lies further right, because the times are
// skewed.
TEST(BootstrapMean, AgreesWithTheMouseData) {
  const Samples mice = {94, 197, 16, 38, 99, 141, 23};
  const Interval interval =
      bootstrap_mean(mice, {.confidence = 0.6827, .resamples = 100000, .seed = 3});
  EXPECT_NEAR((interval.high - interval.low) / 2, 23.36, 1.5);
  EXPECT_GT((interval.low + interval.high) / 2, 86.86);
}

TEST(BootstrapMean, EqualScoresLeaveNoDoubt) {
  const Interval interval = bootstrap_mean(Samples{0.1, 0.1, 0.1});
  EXPECT_EQ(interval.low, 0.1);
  EXPECT_EQ(interval.high, 0.1);
}

TEST(BootstrapMean, DependsOnItsSeedAlone) {
  Samples samples;
  for (uint64_t i = 0; i < 40; ++i) samples.push_back(random_unit(5, 0, i));
  const Interval first = bootstrap_mean(samples, {.seed = 7}),
                 again = bootstrap_mean(samples, {.seed = 7}),
                 other = bootstrap_mean(samples, {.seed = 8});
  EXPECT_EQ(first.low, again.low);
  EXPECT_EQ(first.high, again.high);
  EXPECT_NE(first.low, other.low);
  EXPECT_NEAR(first.low, other.low, 0.01);
}

TEST(BootstrapMean, MovesAndStretchesWithTheSamples) {
  Samples samples, moved;
  for (uint64_t i = 0; i < 30; ++i) {
    samples.push_back(std::pow(random_unit(9, 0, i), 3));
    moved.push_back(3 + 2 * samples.back());
  }
  const Interval interval = bootstrap_mean(samples), other = bootstrap_mean(moved);
  EXPECT_NEAR(other.low, 3 + 2 * interval.low, 1e-9);
  EXPECT_NEAR(other.high, 3 + 2 * interval.high, 1e-9);
}

// A 90 % interval should miss the mean in 40 of 400 sets of 60 skewed scores (u^4, mean 0.2), with
// a binomial standard deviation of 6. BCa of 60 samples is known to miss somewhat more often.
TEST(BootstrapMean, KeepsItsLevelForSkewedScores) {
  int below = 0, above = 0;
  for (uint64_t set = 0; set < 400; ++set) {
    Samples scores;
    for (uint64_t i = 0; i < 60; ++i) scores.push_back(std::pow(random_unit(11, set, i), 4));
    const Interval interval =
        bootstrap_mean(scores, {.confidence = 0.9, .resamples = 1000, .seed = set});
    below += interval.high < 0.2 ? 1 : 0;
    above += interval.low > 0.2 ? 1 : 0;
  }
  EXPECT_GT(below + above, 20);
  EXPECT_LT(below + above, 65);
}

}  // namespace
}  // namespace reprise::results
