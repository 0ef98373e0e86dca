// Tests intervals of percentiles: the ranks of the definition, and the coverage.
#include "results/quantile_interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "results/distributions.h"
#include "results/record.h"
#include "results/statistics.h"
#include "tests/results/sample_record.h"
#include "tests/support/json.h"

namespace reprise::results {
namespace {

std::vector<double> ranks(int64_t count) {
  std::vector<double> samples(static_cast<size_t>(count));
  std::iota(samples.begin(), samples.end(), 1.0);
  return samples;
}

// The tabulated ranks for the median are 1 and 6 of 6, 2 and 9 of 10, and 40 and 61 of 100; 5
// samples give none.
TEST(QuantileInterval, OfTheMedianHasTheTabulatedRanks) {
  EXPECT_FALSE(quantile_interval(ranks(5), 0.5, 0.95));
  EXPECT_FALSE(quantile_interval({}, 0.5, 0.95));
  for (const auto& [count, low, high] :
       {std::tuple{6, 1, 6}, std::tuple{10, 2, 9}, std::tuple{100, 40, 61}}) {
    const auto interval = quantile_interval(ranks(count), 0.5, 0.95);
    ASSERT_TRUE(interval) << count;
    EXPECT_EQ(interval->low, low) << count;
    EXPECT_EQ(interval->high, high) << count;
  }
}

TEST(QuantileInterval, RanksAreTheNarrowestThatKeepEachSidesDoubt) {
  for (const int64_t count : {30, 61, 400, 3001})
    for (const double share : {0.1, 0.5, 0.9, 0.95}) {
      const auto interval = quantile_interval(ranks(count), share, 0.95);
      if (!interval) continue;
      const auto low = static_cast<int64_t>(interval->low);
      const auto high = static_cast<int64_t>(interval->high);
      EXPECT_LE(binomial_cdf(low - 1, count, share), 0.025);
      EXPECT_GT(binomial_cdf(low, count, share), 0.025);
      EXPECT_LE(1 - binomial_cdf(high - 1, count, share), 0.025 + 1e-12);
      EXPECT_GT(1 - binomial_cdf(high - 2, count, share), 0.025);
    }
}

// Draws 150 exponential samples 2,000 times. The share of intervals that miss the true p90 must be
// within four standard deviations of at most 5 %.
TEST(QuantileInterval, HoldsTheTrueQuantileAsOftenAsItSays) {
  constexpr int kTimes = 2000, kSamples = 150;
  const double truth = -std::log(0.1);
  int missed = 0;
  for (int time = 0; time < kTimes; ++time) {
    std::vector<double> samples;
    for (int i = 0; i < kSamples; ++i)
      samples.push_back(
          -std::log(1 - random_unit(7, static_cast<uint64_t>(time), static_cast<uint64_t>(i))));
    std::sort(samples.begin(), samples.end());
    const auto interval = quantile_interval(samples, 0.9, 0.95);
    ASSERT_TRUE(interval);
    missed += truth < interval->low || truth > interval->high;
  }
  EXPECT_LT(missed, kTimes * 0.05 + 4 * std::sqrt(kTimes * 0.05 * 0.95));
  EXPECT_GT(missed, kTimes * 0.01);  // the interval must not be too wide either
}

TEST(QuantileInterval, StandsBesideThePercentilesThatAMetricHas) {
  std::vector<double> samples = ranks(100);
  std::reverse(samples.begin(), samples.end());
  Metric sampled = metric_of(summarize(samples), "ms");
  add_percentiles(samples, sampled);
  add_percentile_intervals(samples, 0.95, sampled);
  const Json metric = json_of_metric(sampled);
  EXPECT_EQ(metric["confidence"], 0.95);
  EXPECT_EQ(metric["intervals"]["p50"], Json({{"low", 40.0}, {"high", 61.0}}));
  EXPECT_TRUE(metric["intervals"].contains("p90"));
  EXPECT_EQ(metric["intervals"]["p95"]["high"], 100.0);
  EXPECT_FALSE(metric["intervals"].contains("p99"));  // the metric has no p99
}

// 0.95^59 is 4.9 %. So the largest of 59 samples lies above p95 often enough for p95 to be printed,
// but not often enough to bound it at 2.5 % on this side.
TEST(QuantileInterval, IsLeftOutWhereSamplesAreTooFew) {
  const std::vector<double> samples = ranks(59);
  Metric sampled = metric_of(summarize(samples), "ms");
  add_percentiles(samples, sampled);
  add_percentile_intervals(samples, 0.95, sampled);
  const Json metric = json_of_metric(sampled);
  EXPECT_TRUE(metric.contains("p95"));
  EXPECT_FALSE(metric["intervals"].contains("p95"));
  Metric few = metric_of(summarize(ranks(3)), "ms");
  add_percentiles(ranks(3), few);
  add_percentile_intervals(ranks(3), 0.95, few);
  EXPECT_TRUE(few.intervals.empty());
}

TEST(QuantileInterval, RecordsWithBrokenIntervalsAreRefused) {
  Json record = sample_json("p", "g", 0, 1);
  Json& metric = record["metrics"]["ttft_ms"];
  metric["interval"] = {{"low", 1}, {"high", 2}};
  metric["confidence"] = 0.95;
  metric["intervals"] = {{"p50", {{"low", 1}, {"high", 1}}}};
  EXPECT_EQ(line_fault(record), "");
  for (const auto& [broken, part] :
       {std::pair{Json{{"low", 2}, {"high", 1}}, "before it begins"},
        std::pair{Json{{"low", 1}}, "high is missing"}, std::pair{Json(3), "must be an object"},
        std::pair{Json{{"low", "1"}, {"high", 2}}, "must be a number"}}) {
    Json one = record, other = record;
    one["metrics"]["ttft_ms"]["interval"] = broken;
    other["metrics"]["ttft_ms"]["intervals"]["p50"] = broken;
    EXPECT_NE(line_fault(one).find(part), std::string::npos) << line_fault(one);
    EXPECT_NE(line_fault(other).find(part), std::string::npos) << line_fault(other);
  }
  metric["intervals"] = "p50";
  EXPECT_NE(line_fault(record).find("intervals must be an object"), std::string::npos);
}

}  // namespace
}  // namespace reprise::results
