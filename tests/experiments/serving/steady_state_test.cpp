#include "experiments/serving/steady_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/random.h"

namespace reprise::experiments::serving {
namespace {

// Requests of one token that come a second apart, in order. Request i takes latency_s(i).
RequestLog log_of(int64_t requests, const std::function<double(int64_t)>& latency_s) {
  RequestLog log;
  for (int64_t i = 0; i < requests; ++i) {
    const auto at = static_cast<double>(i);
    RequestEntry entry{.index = i, .intended_s = at, .sent_s = at, .outcome = Outcome::kServed};
    entry.token_s = {at + latency_s(i)};
    entry.done_s = entry.token_s.back();
    log.requests.push_back(std::move(entry));
  }
  return log;
}

double exponential(uint64_t seed, int64_t i) {
  return -std::log(1 - random_unit(seed, static_cast<uint64_t>(i), 0));
}

TEST(SteadyState, IsTheWholeOfARunOfEqualLatencies) {
  const auto found = steady_state(log_of(200, [](int64_t) { return 0.1; }));
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->is_found);
  EXPECT_EQ(found->from, 0);
  EXPECT_NEAR(found->mean_s, 0.1, 1e-9);
}

TEST(SteadyState, BeginsWhereAColdStartEnds) {
  const auto found = steady_state(log_of(400, [](int64_t i) { return i < 80 ? 3.0 : 1.0; }));
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->is_found);
  EXPECT_EQ(found->from, 80);
  EXPECT_NEAR(found->mean_s, 1, 1e-9);
}

TEST(SteadyState, IsNotFoundWhereLatencyGrowsToTheEnd) {
  const auto found =
      steady_state(log_of(300, [](int64_t i) { return 1 + 0.05 * static_cast<double>(i); }));
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->is_found);
}

// As many runs with independent latencies must be found steady as the header states.
TEST(SteadyState, IsFoundInNearlyAllRunsThatAreSteady) {
  int64_t found = 0;
  for (uint64_t seed = 0; seed < 100; ++seed)
    found += steady_state(log_of(300, [&](int64_t i) { return exponential(seed, i); }))->is_found;
  EXPECT_GE(found, 97);
}

TEST(SteadyState, FollowsTheArrivalsAndNotTheOrderOfTheLog) {
  RequestLog log = log_of(200, [](int64_t i) { return i < 50 ? 4.0 : 1.0; });
  std::reverse(log.requests.begin(), log.requests.end());
  EXPECT_EQ(steady_state(log)->from, 50);
}

TEST(SteadyState, NeedsAHundredServedRequests) {
  EXPECT_FALSE(steady_state(log_of(99, [](int64_t) { return 1; })).has_value());
  RequestLog log = log_of(100, [](int64_t) { return 1; });
  EXPECT_TRUE(steady_state(log).has_value());
  log.requests[7].outcome = Outcome::kFailed;
  EXPECT_FALSE(steady_state(log).has_value());
}

}  // namespace
}  // namespace reprise::experiments::serving
