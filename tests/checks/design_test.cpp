// Tests the error budget on simulated machines whose noise drifts, bursts and has heavy tails.
#include "checks/design.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/base/random.h"

namespace reprise::checks {
namespace {

using results::Shift;

TEST(Looks, SpendTheWholeBudgetAndNoMore) {
  for (const double alpha : {0.05, 0.01, 0.0003})
    for (const int most : {1, 12, 30, 77, 150}) {
      double spent = 0;
      int before = 0;
      for (const Look& look : looks(most, alpha)) {
        EXPECT_GT(look.rounds, before);
        EXPECT_GT(look.alpha, 0);
        // With look.rounds rounds, the interval at level look.alpha is finite.
        EXPECT_LE(std::exp2(1 - look.rounds), look.alpha);
        spent += look.alpha;
        before = look.rounds;
      }
      EXPECT_NEAR(spent, alpha, 1e-12);
      EXPECT_EQ(before, std::max(most, least_rounds(alpha)));
    }
}

TEST(LeastRounds, GrowWithTheDemand) {
  EXPECT_EQ(least_rounds(0.05), 12);
  EXPECT_GT(least_rounds(1e-5), least_rounds(1e-4));
}

TEST(NoiseOf, IsTheSpreadAboutZeroAndIgnoresABurst) {
  const std::vector<double> quiet = {0.01, -0.01, 0.01, -0.01, 0.01, -0.01, 0.01};
  std::vector<double> with_burst = quiet;
  with_burst.back() = 5.0;
  const Look last{40, 0.005};
  EXPECT_NEAR(noise_of(quiet, last).spread, 0.014826, 1e-9);
  EXPECT_EQ(noise_of(with_burst, last).spread, noise_of(quiet, last).spread);
  // The expected value is 2.807 standard errors of a mean of 40, divided by the root of the test's
  // efficiency.
  EXPECT_NEAR(noise_of(quiet, last).resolvable, 2.807 * 0.014826 / std::sqrt(40) / std::sqrt(0.955),
              1e-5);
}

TEST(MarginsOf, WidenWithTheNoiseButOnlyTwofold) {
  EXPECT_EQ(margins_of(0.03, {.spread = 0.01, .resolvable = 0.01}).same, 0.03);
  EXPECT_EQ(margins_of(0.03, {.spread = 0.1, .resolvable = 0.03}).same, 0.045);
  EXPECT_EQ(margins_of(0.03, {.spread = 2, .resolvable = 1}).same, 0.06);
  EXPECT_EQ(margins_of(0.03, {.spread = 2, .resolvable = 1}).matters, 0.03);
}

TEST(Judge, ReadsTheVerdictOffTheInterval) {
  const Margins margins{.matters = 0.03, .noise = 0.02, .same = 0.03};
  const auto verdict = [&](double low, double estimate, double high) {
    return judge(Shift{.estimate = estimate, .low = low, .high = high}, margins);
  };
  EXPECT_EQ(verdict(-0.01, 0.00, 0.02), Verdict::kSame);
  EXPECT_EQ(verdict(0.01, 0.015, 0.02), Verdict::kSame);  // the difference is too small to matter
  EXPECT_EQ(verdict(0.04, 0.06, 0.08), Verdict::kSlower);
  EXPECT_EQ(verdict(-0.08, -0.06, -0.04), Verdict::kFaster);
  EXPECT_EQ(verdict(0.02, 0.04, 0.06), Verdict::kUndecided);
  EXPECT_EQ(verdict(-0.05, 0.0, 0.05), Verdict::kUndecided);
  EXPECT_EQ(verdict(-INFINITY, 0.1, INFINITY), Verdict::kUndecided);
}

TEST(Judge, WhatAaPairsCouldShowIsNoEvidence) {
  const Margins margins{.matters = 0.03, .noise = 0.20, .same = 0.06};
  EXPECT_EQ(judge({.estimate = 0.1, .low = 0.05, .high = 0.15}, margins), Verdict::kUndecided);
  EXPECT_EQ(judge({.estimate = 0.3, .low = 0.25, .high = 0.35}, margins), Verdict::kSlower);
}

// Simulates a shared machine. A run's time is the true time, plus a share from a neighbour that
// drifts slowly, plus one-sided noise with a heavy tail (Pareto of index 2, so without a variance),
// plus rare bursts that multiply one run.
class Machine {
 public:
  Machine(uint64_t seed, double noise) : seed_(seed), noise_(noise) {}
  double log_time(double log_true) {
    const auto t = static_cast<double>(runs_);
    const double drift = 0.3 * std::sin(2 * std::numbers::pi * (t / 37.0 + uniform(0)));
    const double tail = noise_ * (1.0 / std::sqrt(1.0 - uniform(2)) - 1.0);
    const double burst = uniform(3) < 0.03 ? 1.0 : 0.0;
    ++runs_;
    return log_true + drift + tail + burst;
  }

 private:
  // Stream 0 gives the phase of the drift, the same for all runs. The other streams give new
  // numbers for each run.
  [[nodiscard]] double uniform(uint64_t stream) const {
    return random_unit(seed_, stream, stream == 0 ? 0 : runs_);
  }
  uint64_t seed_;
  double noise_;
  uint64_t runs_ = 0;
};

struct Simulated {
  Verdict verdict = Verdict::kUndecided;
  bool interval_failed = false;  // at any look
  int rounds = 0;
};

// Simulates a whole check of one benchmark whose candidate takes exp(log_ratio) times as long.
Simulated simulate(uint64_t seed, double noise, double log_ratio) {
  constexpr double kAlpha = 0.01, kMargin = 0.03;
  Machine machine(seed, noise);
  std::vector<double> same, differences;
  for (int pair = 0; pair < 10; ++pair) {
    const double first = machine.log_time(0);
    same.push_back(machine.log_time(0) - first);
  }
  const std::vector<Look> plan = looks(60, kAlpha);
  const Margins margins = margins_of(std::log1p(kMargin), noise_of(same, plan.back()));
  Simulated outcome;
  for (const Look& look : plan) {
    while (static_cast<int>(differences.size()) < look.rounds) {
      const bool candidate_first = (random_bits(seed, 9, differences.size()) & 1u) != 0;
      double times[2];
      for (const int side : {candidate_first ? 1 : 0, candidate_first ? 0 : 1})
        times[side] = machine.log_time(side == 1 ? log_ratio : 0);
      differences.push_back(times[1] - times[0]);
    }
    const Shift shift = results::paired_shift(differences, look.alpha);
    outcome.interval_failed =
        outcome.interval_failed || shift.low > log_ratio || shift.high < log_ratio;
    if (outcome.verdict == Verdict::kUndecided) {
      outcome.verdict = judge(shift, margins);
      outcome.rounds = look.rounds;
    }
  }
  return outcome;
}

constexpr int kChecks = 1000;

TEST(Simulation, EqualProgramsAreHardlyEverCalledDifferent) {
  int failures = 0, different = 0, same = 0;
  for (uint64_t seed = 0; seed < kChecks; ++seed) {
    const Simulated check = simulate(seed, 0.03, 0.0);
    failures += check.interval_failed ? 1 : 0;
    same += check.verdict == Verdict::kSame ? 1 : 0;
    different += check.verdict == Verdict::kSlower || check.verdict == Verdict::kFaster ? 1 : 0;
  }
  // At the level 0.01, 10 of 1000 checks fail on average, with a standard deviation of 3.2. The
  // seeds are fixed.
  EXPECT_LE(failures, 10 + 3 * 3.2);
  EXPECT_EQ(different, 0);
  EXPECT_GE(same, kChecks / 2);
}

TEST(Simulation, ASlowdownOfATenthIsCaught) {
  int slower = 0;
  for (uint64_t seed = 0; seed < kChecks; ++seed)
    slower += simulate(seed, 0.03, std::log(1.10)).verdict == Verdict::kSlower ? 1 : 0;
  EXPECT_GE(slower, kChecks * 98 / 100);
}

TEST(Simulation, ASpeedupIsNoRegression) {
  for (uint64_t seed = 0; seed < 200; ++seed)
    EXPECT_NE(simulate(seed, 0.03, std::log(0.9)).verdict, Verdict::kSlower) << "seed " << seed;
}

// If noise hides a difference of a tenth, the check must report undecided.
TEST(Simulation, AWildMachineIsUndecidedNotWrong) {
  int slower = 0, undecided = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Verdict verdict = simulate(seed, 0.6, 0.0).verdict;
    slower += verdict == Verdict::kSlower ? 1 : 0;
    undecided += verdict == Verdict::kUndecided ? 1 : 0;
  }
  EXPECT_EQ(slower, 0);
  EXPECT_GE(undecided, 90);
}

}  // namespace
}  // namespace reprise::checks
