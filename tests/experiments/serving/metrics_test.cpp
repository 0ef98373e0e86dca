// Tests the metrics of small logs against values calculated by hand.
#include "experiments/serving/metrics.h"

#include <gtest/gtest.h>

#include <set>

#include "experiments/serving/reuse.h"
#include "results/record.h"
#include "tests/experiments/serving/sample_log.h"
#include "tests/results/sample_record.h"
#include "tests/support/json.h"

namespace reprise::experiments::serving {
namespace {

double value(const Measurement& measured, const MetricInfo& metric) {
  return measured.metrics.at(metric.name).value;
}

TEST(ServingMetrics, AVerdictTakesLaterReasonsAndReservations) {
  Measurement measured;
  add_verdict({.reservations = {"one"}}, measured);
  add_to_verdict({.reservations = {"two"}}, measured);
  EXPECT_EQ(measured.answers["reservations"], Value(Values{"two", "one"}));
  EXPECT_EQ(measured.answers["verdict"], Value("VALID"));
  add_to_verdict({.reasons = {"why"}}, measured);
  EXPECT_EQ(measured.answers["reasons"], Value(Values{"why"}));
  EXPECT_EQ(measured.answers["verdict"], Value("INVALID"));
  EXPECT_EQ(value(measured, kIsValid), 0);
}

TEST(ServingMetrics, OfEvenRequestsAreThoseOfOne) {
  const Measurement measured = measure(served_log(100), {});
  EXPECT_NEAR(value(measured, kTtftMs), 500, 1e-9);
  EXPECT_NEAR(value(measured, kTpotMs), 250, 1e-9);
  EXPECT_NEAR(value(measured, kItlMs), 250, 1e-9);
  EXPECT_NEAR(value(measured, kE2eMs), 1000, 1e-9);
  EXPECT_NEAR(value(measured, kNormalisedLatencyS), 1.0 / 3, 1e-12);
  EXPECT_NEAR(value(measured, kMeanNormalisedLatencyS), 1.0 / 3, 1e-12);
  EXPECT_DOUBLE_EQ(value(measured, kDurationS), 101);
  EXPECT_DOUBLE_EQ(value(measured, kOfferedRps), 1);
  EXPECT_DOUBLE_EQ(value(measured, kThroughputRps), 100.0 / 101);
  EXPECT_DOUBLE_EQ(value(measured, kOutputTokensPerS), 300.0 / 101);
  EXPECT_DOUBLE_EQ(value(measured, kTotalTokensPerS), 1300.0 / 101);
  EXPECT_EQ(value(measured, kRequests), 100);
  EXPECT_EQ(value(measured, kErrors), 0);
  EXPECT_EQ(measured.samples.at("ttft_ms").size(), 100u);
  EXPECT_TRUE(measured.metrics.at("ttft_ms").intervals.contains("p95"));
  EXPECT_TRUE(measured.metrics.at("mean_normalised_latency_s").interval);
  EXPECT_FALSE(measured.samples.contains("itl_ms"));  // one sample a token would be too many
}

TEST(ServingMetrics, EventsOfSeveralTokensHaveGapsOfTheirOwn) {
  EXPECT_FALSE(measure(served_log(10), {}).metrics.contains("event_gap_ms"));
  RequestLog log = served_log(10);  // three tokens each, a quarter of a second apart
  for (RequestEntry& entry : log.requests) entry.token_s[1] = entry.token_s[0];
  const Measurement measured = measure(log, {});
  EXPECT_NEAR(value(measured, kEventGapMs), 500, 1e-9);
  EXPECT_DOUBLE_EQ(value(measured, kTokensPerEvent), 1.5);
  for (RequestEntry& entry : log.requests) entry.token_s[2] = entry.token_s[0];
  EXPECT_DOUBLE_EQ(value(measure(log, {}), kTokensPerEvent), 3);
  EXPECT_FALSE(measure(log, {}).metrics.contains("event_gap_ms"));
}

// If a run keeps only the first and the last time of an answer, only answers of two tokens still
// show a gap.
TEST(ServingMetrics, GapsOfTheShortestAnswersAloneAreNoMetric) {
  RequestLog log;
  for (int64_t i = 0; i < 3; ++i)  // one to three tokens
    log.requests.push_back(served_entry(i, static_cast<double>(i), 0.5, 0.25, i + 1));
  EXPECT_TRUE(measure(log, {}).metrics.contains("itl_ms"));
  RequestEntry& longest = log.requests.back();
  longest.token_s.erase(longest.token_s.begin() + 1);
  longest.unkept_tokens = 1;
  EXPECT_FALSE(measure(log, {}).metrics.contains("itl_ms"));
}

TEST(ServingMetrics, WhatNobodyToldIsLeftOut) {
  const Measurement measured = measure(served_log(10), {.is_open_loop = false});
  for (const MetricInfo& metric : {kQueueMs, kOfferedRps, kGoodputRps, kGoodputShare, kReusedTokens,
                                   kCachedTokenShare, kPreemptions, kBatchMean, kPeakKvMb})
    EXPECT_FALSE(measured.metrics.contains(metric.name)) << metric.name;
  EXPECT_TRUE(measured.answers.empty());
}

TEST(ServingMetrics, OnlyServedRequestsHaveLatenciesAndAllThatEndedCount) {
  RequestLog log = served_log(8);
  log.requests.push_back(failed_entry(8, 9, "status 500"));
  log.requests.push_back(failed_entry(9, 9.5, "given up with the run"));
  log.requests.back().outcome = Outcome::kCancelled;
  const Measurement measured = measure(log, {.slo = {.ttft_s = 1}});
  EXPECT_EQ(measured.samples.at("ttft_ms").size(), 8u);
  EXPECT_EQ(value(measured, kRequests), 9);
  EXPECT_EQ(value(measured, kErrors), 1);
  EXPECT_DOUBLE_EQ(value(measured, kGoodputShare), 8.0 / 9);
  EXPECT_DOUBLE_EQ(value(measured, kGoodputRps), 8 / 9.6);
  EXPECT_TRUE(measured.metrics.at("goodput_share").interval);
}

TEST(ServingMetrics, ReasoningIsCountedWhereThereIsSome) {
  RequestLog log = served_log(8);
  EXPECT_FALSE(measure(log, {}).metrics.contains("reasoning_tokens"));
  log.requests[1].reasoning_tokens = 2;
  log.requests[5].reasoning_tokens = 3;
  EXPECT_EQ(value(measure(log, {}), kReasoningTokens), 5);
}

TEST(ServingMetrics, NothingServedIsNoLatencyAndARecordAllTheSame) {
  RequestLog log;
  log.requests.push_back(failed_entry(0, 1, "status 500"));
  const Measurement measured = measure(log, {.slo = {.ttft_s = 1}});
  EXPECT_FALSE(measured.metrics.contains("ttft_ms"));
  EXPECT_EQ(value(measured, kThroughputRps), 0);
  EXPECT_EQ(value(measured, kGoodputRps), 0);
  EXPECT_EQ(value(measure(RequestLog{}, {}), kRequests), 0);
}

TEST(ServingMetrics, WhatEnginesTellIsAddedUp) {
  RequestLog log = served_log(2);
  for (RequestEntry& entry : log.requests) {
    entry.admitted_s = entry.intended_s + 0.1;
    entry.cached_tokens = entry.index == 0 ? 0 : 8;
    entry.preemptions = 1;
  }
  log.steps = {{.start_s = 0, .end_s = 1, .batch = 1, .kv_bytes = 5'000'000},
               {.start_s = 1, .end_s = 4, .batch = 3, .kv_bytes = 2'000'000},
               {.start_s = 9, .end_s = 9, .batch = 7, .kv_bytes = 0}};
  const Measurement measured = measure(log, {});
  EXPECT_NEAR(value(measured, kQueueMs), 100, 1e-9);
  EXPECT_EQ(value(measured, kReusedTokens), 8);
  EXPECT_DOUBLE_EQ(value(measured, kCachedTokenShare), 0.4);
  EXPECT_DOUBLE_EQ(value(measured, kBatchMean), 2.5);
  EXPECT_EQ(value(measured, kBatchPeak), 7);
  EXPECT_DOUBLE_EQ(value(measured, kPeakKvMb), 5);
  EXPECT_EQ(value(measured, kPreemptions), 2);
  log.requests[1].cached_tokens = -1;  // unknown for one of them
  EXPECT_FALSE(measure(log, {}).metrics.contains("reused_tokens"));
}

TEST(ServingMetrics, TheHashOfTheAnswersTellsTokensAndRequests) {
  RequestLog log = served_log(2), swapped = served_log(2), other = served_log(2);
  log.requests[0].tokens = swapped.requests[1].tokens = {1, 2, 3};
  log.requests[1].tokens = swapped.requests[0].tokens = {4, 5, 6};
  other.requests[0].tokens = {1, 2, 3};
  other.requests[1].tokens = {4, 5, 7};
  const auto hash = [](const RequestLog& of) { return measure(of, {}).answers.at("tokens_hash"); };
  EXPECT_EQ(hash(log), hash(log));
  EXPECT_NE(hash(log), hash(swapped));
  EXPECT_NE(hash(log), hash(other));
  EXPECT_EQ(measure(log, {}).answers.at("generated_tokens"), Value(6));
}

TEST(ServingMetrics, ManyRequestsKeepSummariesAlone) {
  const Measurement measured = measure(served_log(101), {.most_samples = 100});
  EXPECT_TRUE(measured.samples.empty());
  EXPECT_EQ(measured.metrics.at("ttft_ms").spread->count, 101);
  EXPECT_TRUE(measured.metrics.at("ttft_ms").percentiles.contains("p95"));
}

// Requests differ because their lengths do. This spread is no noise, unlike the spread of
// repetitions.
TEST(ServingMetrics, SpreadOfRequestsIsNoRemark) {
  RequestLog log;
  for (int64_t i = 0; i < 40; ++i)
    log.requests.push_back(
        served_entry(i, static_cast<double>(i), 0.1 * static_cast<double>(i + 1), 0.25, 3));
  const Measurement measured = measure(log, {});
  EXPECT_TRUE(results::remarks_on(measured.metrics).empty());
}

// vLLM leaves the number of cached tokens out where it is 0.
TEST(ServingMetrics, CachedTokensThatOtherAnswersReportAreZeroWhereUsageHasNone) {
  RequestLog log = served_log(3);
  for (RequestEntry& entry : log.requests) entry.cached_tokens = kUsageWithoutCached;
  log.requests[2].cached_tokens = -1;  // without any usage
  RequestLog silent = log;
  settle_cached_tokens(silent);
  for (const RequestEntry& entry : silent.requests) EXPECT_EQ(entry.cached_tokens, -1);
  log.requests[1].cached_tokens = 1;
  settle_cached_tokens(log);
  EXPECT_EQ(log.requests[0].cached_tokens, 0);
  EXPECT_EQ(log.requests[1].cached_tokens, 1);
  EXPECT_EQ(log.requests[2].cached_tokens, -1);
}

TEST(ServingMetrics, AreInvalidFromTheFirstInvalidRepetitionOn) {
  Measurement out;
  add_verdict({}, out);
  add_later_verdict({}, out);
  EXPECT_EQ(out.answers["verdict"], Value("VALID"));
  add_later_verdict({.reasons = {"late"}}, out);
  EXPECT_EQ(out.answers["verdict"], Value("INVALID"));
  EXPECT_EQ(out.metrics.at("is_valid").value, 0.0);
  add_later_verdict({}, out);
  add_later_verdict({.reasons = {"too short"}}, out);
  EXPECT_EQ(out.answers["reasons"], Value(Values{"late"}));
}

TEST(ServingMetrics, MakeASoundRecordAndAreListedOnce) {
  const Measurement measured = measure(served_log(60), {.slo = {.e2e_s = 2}});
  results::Record record = results::sample_record("p", "g", 0, 1);
  record.samples = measured.samples;
  record.metrics = measured.metrics;
  EXPECT_EQ(results::record_fault(record), "");
  std::set<std::string> names;
  for (const MetricInfo& metric : serving_metrics()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_FALSE(metric.help.empty());
  }
  for (const auto& [name, metric] : measured.metrics) EXPECT_TRUE(names.contains(name));
}

}  // namespace
}  // namespace reprise::experiments::serving
