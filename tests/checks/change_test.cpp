#include "checks/change.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace reprise::checks {
namespace {

// Times around `median` with a spread like a machine's.
std::vector<double> times(std::mt19937_64& random, size_t count, double median,
                          double spread = 0.02) {
  std::lognormal_distribution<double> draw(std::log(median), spread);
  std::vector<double> samples(count);
  for (double& sample : samples) sample = draw(random);
  return samples;
}

TEST(Change, FindsWhatIsBeyondTheMarginAndItsDirection) {
  std::mt19937_64 random(1);
  const auto before = times(random, 20, 10), after = times(random, 20, 13);
  const auto slower = change_of(before, after, {});
  ASSERT_TRUE(slower.has_value());
  EXPECT_EQ(slower->verdict, Verdict::kSlower);
  EXPECT_NEAR(std::exp(slower->shift.estimate), 1.3, 0.03);
  EXPECT_LT(slower->shift.low, std::log(1.3));
  EXPECT_GT(slower->shift.high, std::log(1.3));
  EXPECT_EQ(change_of(after, before, {})->verdict, Verdict::kFaster);
  EXPECT_EQ(change_of(before, times(random, 20, 10.2), {})->verdict, Verdict::kSame);
}

TEST(Change, WithinTheMarginNothingIsSlower) {
  std::mt19937_64 random(2);
  const auto before = times(random, 25, 10), after = times(random, 25, 10.5);
  EXPECT_EQ(change_of(before, after, {})->verdict, Verdict::kSame);
  EXPECT_EQ(change_of(before, after, {.margin = 0.01})->verdict, Verdict::kSlower);
}

TEST(Change, TooFewSamplesForTheLevelDecideNothing) {
  const std::vector<double> before = {1, 1, 1}, after = {3, 3, 3};
  const auto change = change_of(before, after, {});
  ASSERT_TRUE(change.has_value());
  EXPECT_TRUE(change->has_too_few_samples);
  EXPECT_EQ(change->verdict, Verdict::kUndecided);
  // With more comparisons sharing the level, each needs more samples.
  const std::vector<double> five = {1, 1.01, 1.02, 1.01, 1}, slow = {3, 3.01, 3.02, 3.01, 3};
  EXPECT_EQ(change_of(five, slow, {})->verdict, Verdict::kSlower);
  EXPECT_TRUE(change_of(five, slow, {.comparisons = 100})->has_too_few_samples);
}

// docs/report.md states these numbers.
TEST(Change, SomeSamplesSufficeForSoManyComparisons) {
  for (const auto& [samples, comparisons] :
       {std::pair{5, 1}, std::pair{8, 64}, std::pair{9, 243}}) {
    const std::vector<double> before(static_cast<size_t>(samples), 1.0);
    const std::vector<double> after(static_cast<size_t>(samples), 2.0);
    EXPECT_FALSE(change_of(before, after, {.comparisons = comparisons})->has_too_few_samples);
    EXPECT_TRUE(change_of(before, after, {.comparisons = comparisons + 1})->has_too_few_samples);
  }
}

TEST(Change, OneSampleHasNoNoiseToJudgeBy) {
  const std::vector<double> one = {1};
  EXPECT_EQ(change_of(one, one, {})->verdict, Verdict::kUndecided);
}

TEST(Change, WithoutLogarithmsThereIsNoComparison) {
  const std::vector<double> none, zero = {0, 1, 2}, sound = {1, 2, 3};
  EXPECT_FALSE(change_of(none, sound, {}).has_value());
  EXPECT_FALSE(change_of(sound, zero, {}).has_value());
  EXPECT_FALSE(change_of(zero, sound, {}).has_value());
}

// Latencies of a queue rise and fall together. A test that took single requests as independent
// would find a change between two stretches of one run.
TEST(Change, NeighboursThatRiseAndFallTogetherAreNoChange) {
  int changed = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> step(0, 0.05);
    const auto queue = [&] {
      std::vector<double> samples(4000);
      double level = 0;
      for (double& sample : samples) sample = std::exp(level = 0.98 * level + step(random));
      return samples;
    };
    const auto before = queue(), after = queue();
    const Verdict verdict = change_of(before, after, {.margin = 0.001})->verdict;
    changed += verdict == Verdict::kSlower || verdict == Verdict::kFaster ? 1 : 0;
  }
  EXPECT_LE(changed, 2);  // 1 % of the pairs would change if the batches were independent
}

TEST(Change, AMillionSamplesAreComparedAtOnce) {
  std::mt19937_64 random(3);
  const auto before = times(random, 1000000, 10), after = times(random, 1000000, 14);
  EXPECT_EQ(change_of(before, after, {})->verdict, Verdict::kSlower);
}

}  // namespace
}  // namespace reprise::checks
