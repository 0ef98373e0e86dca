#include "experiments/serving/width_stop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "experiments/serving/run.h"
#include "tests/experiments/serving/simulated_server.h"

namespace reprise::experiments::serving {
namespace {

RequestEntry served(double e2e_s) {
  RequestEntry entry{.outcome = Outcome::kServed};
  entry.token_s = {e2e_s / 2, e2e_s};
  entry.done_s = e2e_s;
  return entry;
}

double drawn(uint64_t seed, int64_t i) {
  return -std::log(1 - random_unit(seed, static_cast<uint64_t>(i), 0));
}

// Returns the number of requests after which `stop` stops; -1: it does not within 20000.
int64_t stops_after(WidthStop& stop, uint64_t seed) {
  for (int64_t i = 0; i < 20000; ++i)
    if (stop.observe(served(drawn(seed, i)), 0)) return i + 1;
  return -1;
}

TEST(WidthStop, LooksAtGrowingNumbersAndStopsWhereTheIntervalIsNarrow) {
  WidthStop stop({.width = 0.2});
  const int64_t requests = stops_after(stop, 1);
  ASSERT_GT(requests, 100);
  ASSERT_GE(stop.looks().size(), 3u);
  EXPECT_EQ(stop.looks()[0].requests, 100);
  EXPECT_EQ(stop.looks()[1].requests, 125);
  EXPECT_NEAR(stop.looks()[0].confidence, 1 - 0.05 * 6 / (M_PI * M_PI), 1e-12);
  EXPECT_EQ(stop.looks().back().requests, requests);
  for (const WidthStop::Look& look : stop.looks()) {
    EXPECT_EQ(look.is_narrow, &look == &stop.looks().back());
    EXPECT_LT(look.interval_s->low, look.value_s);
  }
  EXPECT_TRUE(stop.observe(served(1), 0));  // requests that were under way end later
  EXPECT_EQ(stop.looks().back().requests, requests);
}

// The median of exponential latencies is log 2.
TEST(WidthStop, TheIntervalHoldsThePercentileInNineteenOfTwentyRuns) {
  int64_t held = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    WidthStop stop({.width = 0.3});
    ASSERT_GT(stops_after(stop, seed), 0);
    const results::Interval last = *stop.looks().back().interval_s;
    held += last.low <= std::log(2) && std::log(2) <= last.high;
  }
  EXPECT_GE(held, 190);
}

TEST(WidthStop, WaitsForTheLeastTimeAndRequests) {
  WidthStop stop({.width = 10, .least_duration_s = 5, .least_requests = 150});
  for (int i = 0; i < 149; ++i) EXPECT_FALSE(stop.observe(served(1), 9));
  EXPECT_FALSE(stop.observe(served(1), 4));
  EXPECT_TRUE(stop.observe(served(1), 5));
}

TEST(WidthStop, CountsServedRequestsOnlyAndNamesWhatItWatches) {
  WidthStop first({.width = 10, .latency = "ttft"});
  RequestEntry failed{.outcome = Outcome::kFailed};
  for (int i = 0; i < 99; ++i) EXPECT_FALSE(first.observe(served(2), 0));
  EXPECT_FALSE(first.observe(failed, 0));
  EXPECT_TRUE(first.observe(served(2), 0));
  EXPECT_NEAR(first.looks().back().value_s, 1, 1e-12);
  const Fields fields = fields_of({.width = 10, .latency = "ttft"}, first.looks());
  EXPECT_EQ(fields.at("requests"), Value(100));
  EXPECT_EQ(fields.at("latency"), Value("ttft"));
}

TEST(WidthStop, ARunEndsEarlyAndCountsWhatIsUnderWay) {
  FakeClock clock;
  SimulatedServer server(clock, {.lanes = 4});
  EvenSource source;
  source.count = 1000;
  const auto closed = workloads::make_schedule("closed", {.most_in_flight = 4}, 1000);
  const RunResult result =
      run(server, source, closed,
          {.rules = {.least_duration_s = 0, .least_requests = 1}, .width = {.width = 0.05}}, clock);
  // The 100th request ends with three others.
  EXPECT_EQ(result.log.requests.size(), 100u);
  EXPECT_TRUE(result.verdict.is_valid());
  EXPECT_TRUE(result.looks.back().is_narrow);
}

TEST(WidthStop, ARunWhoseRequestsAreTooFewSaysSo) {
  FakeClock clock;
  SimulatedServer server(clock, {.lanes = 1});
  EvenSource source;
  source.count = 50;
  const auto closed = workloads::make_schedule("closed", {}, 50);
  const RunResult result =
      run(server, source, closed,
          {.rules = {.least_duration_s = 0, .least_requests = 1}, .width = {.width = 0.05}}, clock);
  EXPECT_EQ(result.log.requests.size(), 50u);
  EXPECT_NE(result.verdict.reservations.back().find("before e2e was known"), std::string::npos);
}

}  // namespace
}  // namespace reprise::experiments::serving
