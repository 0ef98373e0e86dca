// Tests that growing queues and queues that are long for a while are told apart.
#include "experiments/serving/queue_growth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/random.h"

namespace reprise::experiments::serving {
namespace {

constexpr GrowthRule kRule = {.window_arrivals = 50, .windows = 4, .least_backlog = 60};

// Simulates one server that takes on average `work` of the mean gap between arrivals for each
// request; gaps and work are exponential. Returns how many requests were due when the rule said
// that the queue only grows; -1: it never said so.
int64_t stopped_at(double work, int64_t requests, uint64_t seed) {
  QueueGrowth growth(kRule);
  double now = 0, free = 0;
  std::vector<double> ends;  // ascending
  for (int64_t i = 0; i < requests; ++i) {
    const auto item = static_cast<uint64_t>(i);
    now -= std::log(1 - random_unit(seed, item, 0));
    free = std::max(free, now) - work * std::log(1 - random_unit(seed, item, 1));
    ends.push_back(free);
    const auto done = std::upper_bound(ends.begin(), ends.end(), now) - ends.begin();
    if (growth.observe(i + 1, done)) return i + 1;
  }
  return -1;
}

TEST(QueueGrowth, AnOverloadedServerIsFoundWithinItsFirstQueues) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const int64_t at = stopped_at(1.5, 4000, seed);
    EXPECT_GE(at, 5 * kRule.window_arrivals) << "seed " << seed;
    EXPECT_LE(at, 2000) << "seed " << seed;
  }
}

TEST(QueueGrowth, AServerThatKeepsUpIsLeftAlone) {
  for (uint64_t seed = 1; seed <= 20; ++seed)
    for (const double work : {0.3, 0.7, 0.85})
      EXPECT_EQ(stopped_at(work, 10000, seed), -1) << "seed " << seed << " work " << work;
}

TEST(QueueGrowth, ABurstThatIsWorkedOffIsNoGrowth) {
  QueueGrowth growth(kRule);
  int64_t due = 0, done = 0;
  for (int i = 0; i < 150; ++i) EXPECT_FALSE(growth.observe(++due, done));  // three windows
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(growth.observe(++due, done += 2));
}

TEST(QueueGrowth, AShortQueueMayGrowAndTheRuleCanBeTurnedOff) {
  QueueGrowth patient({.window_arrivals = 10, .windows = 4, .least_backlog = 1000});
  QueueGrowth off({.windows = 0});
  for (int64_t due = 1; due < 900; ++due) {
    EXPECT_FALSE(patient.observe(due, 0));
    EXPECT_FALSE(off.observe(due, 0));
  }
}

// `requests` requests to a server of `lanes` lanes, which arrive at `load` times the rate that it
// can serve. Gaps and work are exponential.
RequestLog log_of(double load, int64_t requests, uint64_t seed, size_t lanes = 4) {
  RequestLog log;
  std::vector<double> free_s(lanes, 0.0);
  double now = 0;
  for (int64_t i = 0; i < requests; ++i) {
    const auto item = static_cast<uint64_t>(i);
    now -= std::log(1 - random_unit(seed, item, 0));
    const auto lane = std::min_element(free_s.begin(), free_s.end());
    const double begin = std::max(*lane, now);
    *lane = begin - load * static_cast<double>(lanes) * std::log(1 - random_unit(seed, item, 1));
    log.requests.push_back(
        {.index = i, .intended_s = now, .sent_s = now, .admitted_s = begin, .done_s = *lane});
  }
  return log;
}

int64_t grown(double load, int64_t requests) {
  constexpr uint64_t kSeeds = 500;
  int64_t count = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) count += queue_grew(log_of(load, requests, seed));
  return 100 * count / static_cast<int64_t>(kSeeds);
}

TEST(QueueGrew, TellsOverloadFromLoad) {
  EXPECT_GE(grown(2, 60), 90);  // percent
  EXPECT_GE(grown(1.5, 200), 90);
  EXPECT_LE(grown(0.5, 16), 6);  // so few requests may well meet one burst
  EXPECT_LE(grown(0.5, 60), 2);
  EXPECT_LE(grown(0.7, 60), 5);
  EXPECT_EQ(grown(0.7, 1000), 0);
}

// A server without a queue, whose answers take more than half of the run.
TEST(QueueGrew, RequestsThatGenerateDoNotWait) {
  RequestLog log;
  for (int64_t i = 0; i < 64; ++i) {
    const double at_s = static_cast<double>(i) / 64;
    log.requests.push_back({.index = i,
                            .intended_s = at_s,
                            .sent_s = at_s,
                            .token_s = {at_s + 0.01, at_s + 0.6},
                            .done_s = at_s + 0.6});
  }
  EXPECT_FALSE(queue_grew(log));
  for (RequestEntry& entry : log.requests) entry.token_s.clear();
  EXPECT_TRUE(queue_grew(log));
}

TEST(QueueGrew, CountsRequestsUntilTheyEndWhereTheEngineDoesNotTell) {
  RequestLog log = log_of(2, 100, 3);
  for (RequestEntry& entry : log.requests) entry.admitted_s = -1;
  EXPECT_TRUE(queue_grew(log));
  log = log_of(0.5, 100, 3);
  for (RequestEntry& entry : log.requests) entry.admitted_s = -1;
  EXPECT_FALSE(queue_grew(log));
}

TEST(QueueGrew, FewRequestsOrAllAtOnceSayNothing) {
  EXPECT_FALSE(queue_grew({}));
  EXPECT_FALSE(queue_grew(log_of(9, 15, 1)));
  RequestLog log = log_of(2, 100, 3);
  for (RequestEntry& entry : log.requests) entry.intended_s = 0;
  EXPECT_FALSE(queue_grew(log));
}

}  // namespace
}  // namespace reprise::experiments::serving
