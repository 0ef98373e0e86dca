// Tests that arrival processes have the stated mean and coefficient of variation, and seeds of
// their own.
#include "workloads/arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/error.h"
#include "workloads/registry.h"

namespace reprise::workloads {
namespace {

std::vector<double> gaps_of(const ArrivalSchedule& schedule) {
  std::vector<double> gaps(schedule.intended_s.size());
  std::adjacent_difference(schedule.intended_s.begin(), schedule.intended_s.end(), gaps.begin());
  return gaps;
}

struct Moments {
  double mean = 0, cv = 0;
};

Moments moments_of(const std::vector<double>& gaps) {
  const auto n = static_cast<double>(gaps.size());
  const double mean = std::accumulate(gaps.begin(), gaps.end(), 0.0) / n;
  double squares = 0;
  for (const double gap : gaps) squares += (gap - mean) * (gap - mean);
  return {.mean = mean, .cv = std::sqrt(squares / n) / mean};
}

std::string message(const std::string& name, const ArrivalOptions& options) {
  try {
    (void)make_schedule(name, options, /*items=*/0);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// The mean of n gaps with coefficient of variation (cv) c has a relative standard deviation of c /
// sqrt(n). The variance of n gamma variables has one of sqrt((2 + 6 c^2) / n), and the root of the
// variance half of that. The cv is the root over the mean, so the two deviations add up; 5 times
// their sum is allowed.
TEST(Arrivals, HaveTheStatedMeanAndCoefficientOfVariation) {
  constexpr int64_t kItems = 200000;
  for (const double rate : {0.25, 40.0})
    for (const double cv : {0.3, 1.0, 2.0, 3.5})
      for (const uint64_t seed : {1u, 2u, 3u}) {
        const Moments moments = moments_of(
            gaps_of(make_schedule("gamma", {.rate_rps = rate, .cv = cv, .seed = seed}, kItems)));
        const double of_mean = cv / std::sqrt(static_cast<double>(kItems));
        const double of_cv =
            0.5 * std::sqrt((2 + 6 * cv * cv) / static_cast<double>(kItems)) + of_mean;
        EXPECT_NEAR(moments.mean * rate, 1, 5 * of_mean) << "cv " << cv << " seed " << seed;
        EXPECT_NEAR(moments.cv / cv, 1, 5 * of_cv) << "cv " << cv << " seed " << seed;
      }
  const Moments poisson = moments_of(gaps_of(make_schedule("poisson", {.rate_rps = 8}, kItems)));
  EXPECT_NEAR(poisson.mean * 8, 1, 5 / std::sqrt(static_cast<double>(kItems)));
  EXPECT_NEAR(poisson.cv, 1, 5 * 2.5 / std::sqrt(static_cast<double>(kItems)));
}

// P(gap > t) = exp(-rate t). This tests more than the first two moments.
TEST(Arrivals, GapsOfPoissonAreExponential) {
  constexpr int64_t kItems = 100000;
  const std::vector<double> gaps = gaps_of(make_schedule("poisson", {.rate_rps = 2}, kItems));
  for (const double t : {0.05, 0.2, 0.5, 1.0, 2.0}) {
    const auto above = std::count_if(gaps.begin(), gaps.end(), [&](double gap) { return gap > t; });
    const double expected = std::exp(-2 * t);
    EXPECT_NEAR(static_cast<double>(above) / kItems, expected,
                5 * std::sqrt(expected * (1 - expected) / kItems));
  }
}

// A gamma distribution with a coefficient of variation of 1 is exponential. So the gaps are
// distributed like Poisson's, although they are drawn in another way.
TEST(Arrivals, GammaOfCoefficientOneIsExponential) {
  constexpr int64_t kItems = 100000;
  const std::vector<double> gaps =
      gaps_of(make_schedule("gamma", {.rate_rps = 1, .cv = 1}, kItems));
  for (const double t : {0.1, 1.0, 3.0}) {
    const auto above = std::count_if(gaps.begin(), gaps.end(), [&](double gap) { return gap > t; });
    EXPECT_NEAR(static_cast<double>(above) / kItems, std::exp(-t),
                5 * std::sqrt(std::exp(-t) * (1 - std::exp(-t)) / kItems));
  }
}

TEST(Arrivals, AscendFromAboveZeroAndMoreItemsMoveNone) {
  for (const char* name : {"poisson", "gamma", "constant", "ramp", "burst"}) {
    const ArrivalOptions options{.rate_rps = 3,
                                 .cv = 2,
                                 .seed = 9,
                                 .end_rate_rps = 7,
                                 .ramp_s = 40,
                                 .burst_rate_rps = 30,
                                 .burst_s = 0.1,
                                 .between_s = 3};
    const ArrivalSchedule some = make_schedule(name, options, 100);
    const ArrivalSchedule more = make_schedule(name, options, 1000);
    EXPECT_TRUE(std::is_sorted(more.intended_s.begin(), more.intended_s.end()));
    EXPECT_GE(more.intended_s.front(), 0);
    EXPECT_TRUE(
        std::equal(some.intended_s.begin(), some.intended_s.end(), more.intended_s.begin()));
    EXPECT_EQ(more.most_in_flight, 0);
    EXPECT_TRUE(make_schedule(name, options, 0).intended_s.empty());
  }
}

TEST(Arrivals, ConstantGapsAreEqualAndAClosedLoopHasNone) {
  EXPECT_EQ(make_schedule("constant", {.rate_rps = 4}, 3).intended_s,
            (std::vector<double>{0.25, 0.5, 0.75}));
  const ArrivalSchedule closed = make_schedule("closed", {.most_in_flight = 6}, 3);
  EXPECT_EQ(closed.most_in_flight, 6);
  EXPECT_EQ(closed.intended_s, (std::vector<double>{0, 0, 0}));
}

// Prompts and arrivals have seeds of their own, and neither depends on the other's seed.
TEST(Arrivals, ChangingOneSeedLeavesTheOtherDimensionAlone) {
  struct Drawn {
    std::vector<double> times;
    std::vector<int32_t> prompt;
  };
  const auto draw = [](uint64_t prompts, uint64_t arrivals) {
    return Drawn{
        .times = make_schedule("poisson", {.seed = arrivals}, 50).intended_s,
        .prompt = make_workload("random_tokens", {.vocab = 1000, .seed = prompts})->prompt(7, 50)};
  };
  const Drawn base = draw(1, 1), other_prompts = draw(2, 1), other_arrivals = draw(1, 2);
  EXPECT_EQ(other_prompts.times, base.times);
  EXPECT_NE(other_prompts.prompt, base.prompt);
  EXPECT_EQ(other_arrivals.prompt, base.prompt);
  EXPECT_NE(other_arrivals.times, base.times);
}

// Expects that the number of arrivals in each stretch of time agrees with a Poisson process whose
// rate changes as given.
void expect_counts(const std::vector<double>& times, double stretch_s,
                   const std::vector<double>& expected) {
  std::vector<double> counts(expected.size(), 0);
  for (const double time_s : times)
    if (const auto stretch = static_cast<size_t>(time_s / stretch_s); stretch < counts.size())
      counts[stretch] += 1;
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(counts[i], expected[i], 5 * std::sqrt(expected[i]) + 1e-9) << "stretch " << i;
}

TEST(Arrivals, ARampGoesFromOneRateToTheOtherAndStays) {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    const ArrivalOptions up{.rate_rps = 0, .seed = seed, .end_rate_rps = 40, .ramp_s = 400};
    expect_counts(make_schedule("ramp", up, 20000).intended_s, 100,
                  {500, 1500, 2500, 3500, 4000, 4000});
    const ArrivalOptions down{.rate_rps = 40, .seed = seed, .end_rate_rps = 10, .ramp_s = 300};
    expect_counts(make_schedule("ramp", down, 10000).intended_s, 100, {3500, 2500, 1500, 1000});
    const ArrivalOptions level{.rate_rps = 10, .seed = seed, .end_rate_rps = 10, .ramp_s = 1};
    EXPECT_EQ(make_schedule("ramp", level, 1).intended_s.size(), 1u);
  }
}

// 10000 requests at a mean of 20 a second take 500 seconds.
TEST(Arrivals, ARampWithoutALengthTakesTheRun) {
  const std::vector<double> times =
      make_schedule("ramp", {.rate_rps = 10, .end_rate_rps = 30}, 10000).intended_s;
  EXPECT_NEAR(times.back(), 500, 5 * std::sqrt(10000.0) / 30);
  expect_counts(times, 250, {250 * 15});
  EXPECT_TRUE(make_schedule("ramp", {}, 0).intended_s.empty());
}

TEST(Arrivals, BurstsAlternateWithWhatIsBetween) {
  const ArrivalOptions options{
      .rate_rps = 2, .burst_rate_rps = 50, .burst_s = 100, .between_s = 300};
  expect_counts(make_schedule("burst", options, 12000).intended_s, 100,
                {5000, 200, 200, 200, 5000, 200});
  ArrivalOptions silent = options;
  silent.rate_rps = 0;
  expect_counts(make_schedule("burst", silent, 12000).intended_s, 100, {5000, 0, 0, 0, 5000, 0});
}

TEST(Arrivals, ATraceIsReplayedOrStretchedToARate) {
  ArrivalOptions options{.recorded_s = {0.5, 0.5, 2, 4.5}};
  EXPECT_EQ(make_schedule("trace", options, 4).intended_s, options.recorded_s);
  EXPECT_EQ(make_schedule("trace", options, 2).intended_s, (std::vector<double>{0.5, 0.5}));
  options.recorded_rate_rps = 1.5;  // the recording has 3 gaps in 4 seconds
  EXPECT_EQ(make_schedule("trace", options, 4).intended_s,
            (std::vector<double>{0.25, 0.25, 1, 2.25}));
  // The rate is that of the whole recording, so fewer requests come at the same times.
  EXPECT_EQ(make_schedule("trace", options, 3).intended_s, (std::vector<double>{0.25, 0.25, 1}));
  EXPECT_THROW((void)make_schedule("trace", options, 5), Error);
}

TEST(Arrivals, RefuseWhatCannotBe) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, infinite, std::nan("")}) {
    EXPECT_NE(message("poisson", {.rate_rps = bad}).find("rate_rps"), std::string::npos) << bad;
    EXPECT_NE(message("gamma", {.cv = bad}).find("cv"), std::string::npos) << bad;
    EXPECT_NE(message("ramp", {.end_rate_rps = bad}).find("end_rate_rps"), std::string::npos);
    EXPECT_NE(message("burst", {.burst_rate_rps = bad}).find("burst_rate_rps"), std::string::npos);
    EXPECT_NE(message("burst", {.burst_s = bad}).find("burst_s"), std::string::npos);
    EXPECT_NE(message("burst", {.between_s = bad}).find("between_s"), std::string::npos);
    if (bad == 0) continue;
    EXPECT_NE(message("ramp", {.rate_rps = bad}).find("rate_rps"), std::string::npos);
    EXPECT_NE(message("ramp", {.ramp_s = bad}).find("ramp_s"), std::string::npos);
    EXPECT_NE(message("burst", {.rate_rps = bad}).find("rate_rps"), std::string::npos);
    EXPECT_NE(message("trace", {.recorded_s = {1, 2}, .recorded_rate_rps = bad}).find("rate_rps"),
              std::string::npos);
  }
  EXPECT_NE(message("trace", {}).find("\"mooncake\""), std::string::npos);
  EXPECT_NE(
      message("trace", {.recorded_s = {3, 3}, .recorded_rate_rps = 1}).find("the same moment"),
      std::string::npos);
  EXPECT_NE(message("closed", {.most_in_flight = 0}).find("at least 1"), std::string::npos);
  EXPECT_NE(message("sessions", {}).find("has no conversations"), std::string::npos);
  EXPECT_NE(message("sessions", {.most_in_flight = 0, .waits_for = {{}}}).find("at least 1"),
            std::string::npos);
  EXPECT_NE(message("sessions", {.waits_for = {{}}, .pause_s = -1}).find("pause_s"),
            std::string::npos);
  EXPECT_NE(message("poison", {}).find("did you mean \"poisson\"?"), std::string::npos);
}

TEST(Arrivals, PausesOfSessionsHaveTheStatedMean) {
  constexpr int64_t kItems = 100000;
  const ArrivalSchedule schedule = make_schedule(
      "sessions",
      {.most_in_flight = 3, .waits_for = std::vector<std::vector<int64_t>>(kItems), .pause_s = 0.5},
      kItems);
  EXPECT_EQ(schedule.most_in_flight, 3);
  const Moments moments = moments_of(schedule.pause_s);
  EXPECT_NEAR(moments.mean, 0.5, 5 * 0.5 / std::sqrt(kItems));
  EXPECT_NEAR(moments.cv, 1, 0.03);
}

TEST(Arrivals, RecordedPausesAreCutToTheLongestThatIsKept) {
  ArrivalOptions options{.waits_for = {{}, {0}, {1}}, .pause_s = 7, .most_pause_s = 60};
  EXPECT_NE(message("sessions", options).find("most_pause_s limits recorded pauses"),
            std::string::npos);
  options.recorded_pauses_s = {0, 3.5, 90};
  EXPECT_EQ(make_schedule("sessions", options, 3).pause_s, (std::vector<double>{0, 3.5, 60}));
}

TEST(Arrivals, EveryProcessIsListedOnce) {
  EXPECT_EQ(known_arrivals().size(), 8u);
  for (const ArrivalInfo& info : known_arrivals()) {
    EXPECT_FALSE(info.summary.empty());
    const ArrivalOptions options{.recorded_s = {0}, .waits_for = {{}}};
    EXPECT_EQ(make_schedule(info.name, options, 1).intended_s.size(), 1u);
  }
}

}  // namespace
}  // namespace reprise::workloads
