// Tests the rule against its definition, and against the numbers that MLPerf publishes.
#include "experiments/serving/early_stopping.h"

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "results/distributions.h"

namespace reprise::experiments::serving {
namespace {

TEST(EarlyStopping, IsTheLargestCountThatTheDefinitionAllows) {
  for (const double percentile : {0.5, 0.9, 0.97, 0.99})
    for (const double tolerance : {0.0, 0.01})
      for (const int64_t requests : {1, 10, 43, 44, 100, 459, 2000}) {
        const EarlyStopping rule{.percentile = percentile, .tolerance = tolerance};
        int64_t expected = -1;
        while (results::binomial_cdf(expected + 1, requests, 1 - percentile + tolerance) <= 0.01)
          ++expected;
        EXPECT_EQ(rule.overlatency_allowed(requests), expected) << requests << " p" << percentile;
        if (expected < 0) continue;
        EXPECT_LE(rule.least_requests(expected), requests);
        EXPECT_GT(rule.least_requests(expected + 1), requests);
      }
}

// The smallest numbers of queries in MLPerf Inference: 64 for single stream (p90, one over the
// bound) and 662 for multi stream (p99, one over); and 459 = ceil(log 0.01 / log 0.99) with none
// over.
TEST(EarlyStopping, HasTheCountsOfTheRules) {
  const EarlyStopping p90{.percentile = 0.9}, p99{.percentile = 0.99};
  EXPECT_EQ(p99.least_requests(0), 459);
  EXPECT_EQ(p90.least_requests(1), 64);
  EXPECT_EQ(p99.least_requests(1), 662);
  EXPECT_EQ(p99.overlatency_allowed(458), -1);
  EXPECT_EQ(p99.overlatency_allowed(459), 0);
  EXPECT_EQ(p99.overlatency_allowed(270336), 2583);  // the server scenario's count
}

// Summaries of published results say "Processed at least 64 queries (2048). Would discard 172
// highest latency queries." LoadGen's estimate is the largest latency left after that. It is itself
// one of those that may exceed the bound, so one more than the discarded may.
TEST(EarlyStopping, DiscardsWhatPublishedSummariesDiscard) {
  const EarlyStopping p90{.percentile = 0.9};
  for (const auto& [queries, discarded] :
       {std::pair{2048, 172}, std::pair{2116, 178}, std::pair{2145, 181}, std::pair{7469, 685}})
    EXPECT_EQ(p90.overlatency_allowed(queries) - 1, discarded) << queries;
}

TEST(EarlyStopping, DecidesBothWaysOnlyWhereChanceIsExcluded) {
  const EarlyStopping rule{.percentile = 0.9};
  EXPECT_EQ(decide(rule, 1000, 70), SloOutcome::kMet);
  EXPECT_EQ(decide(rule, 1000, 100), SloOutcome::kUndecided);
  EXPECT_EQ(decide(rule, 1000, 130), SloOutcome::kMissed);
  EXPECT_EQ(decide(rule, 0, 0), SloOutcome::kUndecided);
  EXPECT_EQ(decide(rule, 1, 1), SloOutcome::kUndecided);
  EXPECT_EQ(decide(rule, 3, 3), SloOutcome::kMissed);  // chance alone: 0.1^3
  EXPECT_EQ(decide(rule, 44, 0), SloOutcome::kMet);
  EXPECT_EQ(name_of(SloOutcome::kMissed), "missed");
}

// At the bound itself, each wrong decision has a probability of at most 1 %.
TEST(EarlyStopping, ErrsAsRarelyAsItSays) {
  const EarlyStopping rule{.percentile = 0.9};
  constexpr int kTimes = 2000, kRequests = 500;
  int met = 0, missed = 0;
  for (uint64_t time = 0; time < kTimes; ++time) {
    int64_t over = 0;
    for (uint64_t i = 0; i < kRequests; ++i) over += random_unit(11, time, i) < 0.1;
    met += decide(rule, kRequests, over) == SloOutcome::kMet;
    missed += decide(rule, kRequests, over) == SloOutcome::kMissed;
  }
  EXPECT_LE(met, 38);  // four standard deviations above 20
  EXPECT_LE(missed, 38);
  EXPECT_GE(met, 3);
  EXPECT_GE(missed, 3);
}

}  // namespace
}  // namespace reprise::experiments::serving
