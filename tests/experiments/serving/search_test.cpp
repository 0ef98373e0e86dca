// Tests the search on queues whose answer is known.
#include "experiments/serving/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/error.h"
#include "experiments/serving/queue_growth.h"
#include "tests/experiments/serving/sample_log.h"
#include "workloads/arrivals.h"

namespace reprise::experiments::serving {
namespace {

// P(wait <= t) of Poisson arrivals at `rate` < 1 and work of 1 s each. [Erlang 1909]
double wait_within(double t, double rate) {
  long double sum = 0, factorial = 1;
  for (int k = 0; k <= static_cast<int>(t); ++k) {
    if (k > 0) factorial *= k;
    const long double x = rate * (k - t);
    sum += std::pow(x, k) / factorial * std::exp(-x);
  }
  return static_cast<double>((1 - rate) * sum);
}

// The rate at which the share `share` of requests waits at most t.
double known_rate(double t, double share) {
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (wait_within(t, middle) >= share ? low : high) = middle;
  }
  return low;
}

// A trial of `requests` requests, in which those that wait longer than t are counted. Each trial
// has arrivals of its own.
RateTrial queue(double rate, int64_t trial, int64_t requests, double t) {
  const auto arrivals = workloads::make_schedule(
      "poisson", {.rate_rps = rate, .seed = static_cast<uint64_t>(trial + 1)}, requests);
  RateTrial result{.requests = requests};
  double free = 0;
  for (const double at : arrivals.intended_s) {
    const double begin = std::max(at, free);
    if (begin - at > t) ++result.over_slo;
    free = begin + 1;
  }
  return result;
}

TEST(Search, FindsTheRateThatTheLawOfTheQueueGives) {
  EXPECT_NEAR(wait_within(0, 0.6), 0.4, 1e-12);  // nobody there: 1 - rate
  for (const auto& [t, share] : {std::pair{3.0, 0.9}, std::pair{2.5, 0.95}, std::pair{6.0, 0.99}}) {
    const double expected = known_rate(t, share);
    const SearchResult result = search(
        [&, bound = t](double rate, int64_t trial) { return queue(rate, trial, 40000, bound); },
        {.first_rps = 0.1, .resolution = 0.01, .percentile = share});
    EXPECT_GT(result.highest_rps, 0.94 * expected) << "t " << t;
    EXPECT_LT(result.highest_rps, 1.02 * expected) << "t " << t;
    EXPECT_LE(result.above_rps, result.highest_rps * 1.01);
    EXPECT_GT(result.steps.size(), 3u);
  }
}

// One trial has too few requests to decide on p99 at any rate; four together have enough.
TEST(Search, AddsTrialsUpWhereOneCannotDecide) {
  std::map<double, int64_t> trials;
  const auto trial = [&](double rate, int64_t number) {
    EXPECT_EQ(number, trials[rate]++);
    return RateTrial{.requests = 200, .over_slo = rate <= 3 ? 0 : 200};
  };
  const SearchResult result = search(trial, {.first_rps = 1, .most_trials = 4, .confidence = 0.95});
  EXPECT_NEAR(result.highest_rps, 3, 0.06);
  EXPECT_GT(trials[1], 1);
  for (const SearchStep& step : result.steps) {
    EXPECT_EQ(step.total.requests, 200 * step.trials);
    EXPECT_EQ(step.trials, trials[step.rate_rps]);
  }
}

TEST(Search, ARateThatStaysUndecidedOrIsInvalidDoesNotPass) {
  int64_t calls = 0;
  const auto undecided = [&](double, int64_t) {
    ++calls;
    return RateTrial{.requests = 1000, .over_slo = 10};  // exactly 1 %
  };
  const SearchResult none =
      search(undecided, {.first_rps = 1, .least_rps = 0.5, .most_rps = 2, .most_trials = 3});
  EXPECT_EQ(none.highest_rps, 0);
  EXPECT_EQ(calls, 6);  // at 1 and at 0.5
  EXPECT_EQ(none.steps.front().outcome, SloOutcome::kUndecided);

  const auto invalid_above_2 = [](double rate, int64_t) {
    return RateTrial{.requests = 1000, .invalid_reason = rate > 2 ? "the queue only grew" : ""};
  };
  const SearchResult bounded = search(invalid_above_2, {.first_rps = 1});
  EXPECT_GE(bounded.highest_rps, 2 / 1.02);
  EXPECT_LE(bounded.highest_rps, 2);
  EXPECT_EQ(bounded.steps[2].total.invalid_reason, "the queue only grew");
  EXPECT_EQ(bounded.steps[2].trials, 1);
}

// Four trials of 100 requests are too few for p99 even if none misses the service level, and at a
// lower rate there are no more of them.
TEST(Search, StopsHalvingWhereTheRequestsAreTooFewToDecide) {
  const auto few = [](const RateTrial& trial) {
    return search([=](double, int64_t) { return trial; }, {.first_rps = 1, .most_trials = 4});
  };
  for (const RateTrial& trial :
       {RateTrial{.requests = 100},
        RateTrial{.requests = 110, .over_slo = 1, .alone = 110, .alone_over_slo = 1},
        RateTrial{.requests = 60, .invalid_reason = "60 requests ended", .is_short = true}}) {
    const SearchResult result = few(trial);
    EXPECT_TRUE(result.is_too_small);
    EXPECT_EQ(result.steps.size(), 1u);
    EXPECT_EQ(result.highest_rps, 0);
  }
  for (const RateTrial& trial : {RateTrial{.requests = 1000, .over_slo = 10},
                                 RateTrial{.requests = 100, .invalid_reason = "sent late"}}) {
    EXPECT_FALSE(few(trial).is_too_small);
    EXPECT_GT(few(trial).steps.size(), 5u);
  }
}

TEST(Search, OnlyARunThatWasNotGivenUpIsShort) {
  const ValidityRules rules{.least_duration_s = 0, .least_requests = 101};
  EXPECT_TRUE(judge(served_log(100), rules).is_short);
  EXPECT_FALSE(judge(served_log(100), rules, "given up").is_short);
  EXPECT_FALSE(judge(served_log(101), rules).is_short);
}

TEST(Search, ARunThatIsTooSmallByItselfIsATrialAllTheSame) {
  ValidityRules rules{.least_duration_s = 0, .least_requests = 1, .slo = {.ttft_s = 0.6}};
  const Verdict small = judge(served_log(100), rules);
  ASSERT_FALSE(small.is_valid());
  EXPECT_EQ(trial_of(small).invalid_reason, "");
  EXPECT_EQ(trial_of(small).requests, 100);
  rules.least_duration_s = 1000;
  EXPECT_EQ(trial_of(judge(served_log(100), rules)).invalid_reason,
            "it lasted 101 s, 1000 s are needed");
}

TEST(Search, ARateAtWhichTheQueueGrewDoesNotPass) {
  const Verdict grew = {.ended = 100, .queue_grew = true};
  EXPECT_EQ(trial_of(grew).invalid_reason, kQueueGrew);
  EXPECT_EQ(trial_of({.ended = 100}).invalid_reason, "");
  EXPECT_EQ(trial_of({.ended = 20, .queue_grew = true}).invalid_reason, "") << "one burst";
}

TEST(Search, EndsAtTheEndsOfItsRange) {
  const auto all = [](double, int64_t) { return RateTrial{.requests = 1000}; };
  const SearchResult top = search(all, {.first_rps = 3, .most_rps = 10});
  EXPECT_EQ(top.highest_rps, 10);
  EXPECT_TRUE(std::isinf(top.above_rps));
  const auto none = [](double, int64_t) { return RateTrial{.requests = 1000, .over_slo = 1000}; };
  const SearchResult bottom = search(none, {.first_rps = 3, .least_rps = 2});
  EXPECT_EQ(bottom.highest_rps, 0);
  EXPECT_EQ(bottom.above_rps, 2);
}

TEST(Search, StopsHalvingWhereRequestsAloneMissTheServiceLevel) {
  const auto missing = [](int64_t alone, int64_t alone_over) {
    const auto trial = [=](double, int64_t) {
      return RateTrial{
          .requests = 100, .over_slo = 100, .alone = alone, .alone_over_slo = alone_over};
    };
    return search(trial, {.first_rps = 8, .least_rps = 1});
  };
  const SearchResult stopped = missing(50, 50);
  EXPECT_TRUE(stopped.is_out_of_reach);
  EXPECT_EQ(stopped.steps.size(), 1u);
  EXPECT_EQ(stopped.highest_rps, 0);
  for (const SearchResult& all : {missing(49, 49), missing(50, 1)}) {
    EXPECT_FALSE(all.is_out_of_reach);
    EXPECT_EQ(all.steps.size(), 4u);
  }
}

TEST(Search, RefusesRangesThatAreNone) {
  const auto all = [](double, int64_t) { return RateTrial{.requests = 1000}; };
  for (const SearchOptions& wrong :
       {SearchOptions{.first_rps = 0}, SearchOptions{.first_rps = 3, .most_rps = 2},
        SearchOptions{.first_rps = 1, .least_rps = 2}, SearchOptions{.first_rps = std::nan("")},
        SearchOptions{.resolution = 0}, SearchOptions{.most_trials = 0}})
    EXPECT_THROW((void)search(all, wrong), Error);
}

}  // namespace
}  // namespace reprise::experiments::serving
