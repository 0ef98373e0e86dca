// Tests summaries of made-up samples, and stable hashes.
#include "results/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "results/hash.h"
#include "results/provenance.h"
#include "results/record.h"
#include "tests/results/sample_record.h"
#include "tests/support/json.h"

namespace reprise::results {
namespace {

TEST(Statistics, OneSampleIsItsOwnSummary) {
  const Summary summary = summarize(std::vector<double>{4.5});
  EXPECT_EQ(summary.count, 1);
  EXPECT_EQ(summary.median, 4.5);
  EXPECT_EQ(summary.min, 4.5);
  EXPECT_EQ(summary.max, 4.5);
  EXPECT_EQ(summary.iqr(), 0);
}

TEST(Statistics, QuartilesLieBetweenOrderStatistics) {
  const Summary summary = summarize(std::vector<double>{9, 1, 3, 7, 5});
  EXPECT_EQ(summary.median, 5);
  EXPECT_EQ(summary.q1, 3);
  EXPECT_EQ(summary.q3, 7);
  EXPECT_EQ(summary.iqr(), 4);
  const Summary even = summarize(std::vector<double>{4, 1, 3, 2});
  EXPECT_EQ(even.median, 2.5);
  EXPECT_EQ(even.q1, 1.75);
  EXPECT_EQ(even.q3, 3.25);
}

TEST(Statistics, OrderOfSamplesDoesNotMatterAndOneOutlierDoesNotMoveTheMedianFar) {
  const Summary a = summarize(std::vector<double>{1, 2, 3, 4, 1000});
  const Summary b = summarize(std::vector<double>{1000, 4, 3, 2, 1});
  EXPECT_EQ(a.median, 3);
  EXPECT_EQ(b.median, 3);
  EXPECT_EQ(a.max, 1000);
  EXPECT_EQ(a.q3, 4);
}

// If share^n <= 0.05, the largest of n samples lies above the percentile with 95 % confidence.
TEST(Statistics, PercentileNeedsSamplesBeyondIt) {
  std::vector<int64_t> least;
  for (const Percentile& percentile : kPercentiles) {
    least.push_back(percentile.least_samples());
    EXPECT_LE(std::pow(percentile.share, static_cast<double>(least.back())), 0.05);
    EXPECT_GT(std::pow(percentile.share, static_cast<double>(least.back() - 1)), 0.05);
  }
  EXPECT_EQ(least, (std::vector<int64_t>{5, 29, 59, 299, 2995}));
}

TEST(Statistics, PercentilesAreInterpolatedWhereTheCountSupportsThem) {
  const auto with_percentiles = [](int64_t count) {
    std::vector<double> samples;  // the numbers from count down to 1
    for (int64_t i = count; i > 0; --i) samples.push_back(static_cast<double>(i));
    Metric metric = metric_of(summarize(samples), "ms");
    add_percentiles(samples, metric);
    return json_of_metric(metric);
  };
  const Json few = with_percentiles(4);
  for (const Percentile& percentile : kPercentiles) EXPECT_FALSE(few.contains(percentile.name));
  EXPECT_EQ(few["too_few_for"].size(), 5u);

  const Json hundred = with_percentiles(100);  // position share * 99, counted from 0
  EXPECT_DOUBLE_EQ(hundred["p50"].get<double>(), 50.5);
  EXPECT_DOUBLE_EQ(hundred["p90"].get<double>(), 1 + 0.9 * 99);
  EXPECT_DOUBLE_EQ(hundred["p95"].get<double>(), 1 + 0.95 * 99);
  EXPECT_EQ(hundred["too_few_for"], Json({"p99", "p99.9"}));

  const Json many = with_percentiles(2995);
  EXPECT_DOUBLE_EQ(many["p99.9"].get<double>(), 1 + 0.999 * 2994);
  EXPECT_FALSE(many.contains("too_few_for"));
  EXPECT_EQ(many["p50"], many["value"]);
}

TEST(Statistics, PercentileOutsideItsSamplesIsAFault) {
  Json metric = json_of_metric(metric_of(summarize(std::vector<double>{1, 2, 3, 4, 5}), "ms"));
  metric["p90"] = 6.0;
  Json record = sample_json("p", "g", 0, 1);
  record["metrics"]["ttft_ms"] = metric;
  record["samples"] = {{"ttft_ms", {1, 2, 3, 4, 5}}};
  EXPECT_NE(line_fault(record).find("p90 of metric ttft_ms"), std::string::npos);
}

// Records may have been edited by hand.
TEST(Statistics, NumbersOutOfOrderAndForeignUnitsAreFaults) {
  std::vector<double> samples;
  for (int i = 1; i <= 100; ++i) samples.push_back(i);
  Metric sampled = metric_of(summarize(samples), "ms");
  add_percentiles(samples, sampled);
  const Json metric = json_of_metric(sampled);
  const auto fault = [&](const char* key, const Json& value) {
    Json record = sample_json("p", "g", 0, 1);
    record["samples"] = {{"ttft_ms", samples}};
    Json& changed = record["metrics"]["ttft_ms"] = metric;
    if (key != nullptr) changed[key] = value;
    return line_fault(record);
  };
  EXPECT_EQ(fault(nullptr, nullptr), "");
  EXPECT_NE(fault("q1", 60).find("metrics.ttft_ms.iqr must be"), std::string::npos);
  EXPECT_NE(fault("q3", 40).find("metrics.ttft_ms.iqr must be"), std::string::npos);
  EXPECT_NE(fault("min", 60).find("lies outside its own range"), std::string::npos);
  EXPECT_NE(fault("p95", 50).find("p90 of metric ttft_ms is 90.1"), std::string::npos);
  EXPECT_EQ(fault("unit", "s"),
            "metrics.ttft_ms.unit must be \"ms\", as the name says, found \"s\"");
  EXPECT_EQ(fault("value", 51), "metrics.ttft_ms.value is 51, but its samples give 50.5");
  EXPECT_EQ(fault("max", 101), "metrics.ttft_ms.max is 101, but its samples give 100");
  EXPECT_EQ(fault("value", 50.50004), "");  // packed samples may have seven digits
  EXPECT_EQ(fault("count", 99), "metrics.ttft_ms.count is 99, but there are 100 samples");
}

TEST(Statistics, MetricCarriesItsUnit) {
  const Json metric = json_of_metric(metric_of(summarize(std::vector<double>{2, 1, 3}), "ms"));
  EXPECT_EQ(metric["value"], 2.0);
  EXPECT_EQ(metric["unit"], "ms");
  EXPECT_EQ(metric["count"], 3);
}

TEST(Statistics, NoiseAndImpossibleSharesAreRemarked) {
  const Metric calm = metric_of(summarize(std::vector<double>{10, 10.5, 11}), "ms");
  const Metric busy = metric_of(summarize(std::vector<double>{10, 11, 40}), "ms");
  EXPECT_FALSE(is_noisy(calm));
  EXPECT_TRUE(is_noisy(busy));
  EXPECT_FALSE(is_noisy(Metric{.value = 3.0, .unit = "ms"}));
  Metric different = busy;  // its samples are of different things
  different.is_population = true;
  EXPECT_FALSE(is_noisy(different));
  EXPECT_TRUE(remarks_on({{"ttft_ms", calm}}).empty());
  EXPECT_EQ(
      remarks_on({{"ttft_ms", busy}, {"memory_limit_ratio", Metric{.value = 1.5, .unit = "ratio"}}})
          .size(),
      2u);
}

TEST(Statistics, BytesThatAPlanReadsAgainMayComeFromCaches) {
  const auto remarks = [](double read_mb) {
    return remarks_on({{"plan_limit_ratio", Metric{.value = 1.5, .unit = "ratio"}},
                       {"read_mb", Metric{.value = read_mb, .unit = "MB"}},
                       {"useful_mb", Metric{.value = 100, .unit = "MB"}}});
  };
  ASSERT_EQ(remarks(100).size(), 1u);
  EXPECT_EQ(remarks(100)[0],
            "plan_limit_ratio is 1.50, above 1: the machine's limits were measured while it was "
            "busy; measure again with --fresh");
  ASSERT_EQ(remarks(200).size(), 1u);
  EXPECT_EQ(remarks(200)[0],
            "plan_limit_ratio is 1.50, above 1: some of the bytes that the plan reads more than "
            "once came from caches, or the machine's limits were measured while it was busy; "
            "measure again with --fresh");
}

TEST(Statistics, NoiseAroundAMedianThatIsNotPositiveIsRemarked) {
  const Metric calm = metric_of(summarize(std::vector<double>{-10, -10.5, -11}), "ratio");
  const Metric busy = metric_of(summarize(std::vector<double>{-10, -12, -40}), "ratio");
  const Metric zero = metric_of(summarize(std::vector<double>{-1, 0, 1}), "ms");
  EXPECT_FALSE(is_noisy(calm));
  EXPECT_TRUE(is_noisy(busy));
  EXPECT_EQ(remarks_on({{"loss", busy}}),
            std::vector<std::string>{"loss: the quartiles lie 125 % of the median apart; the "
                                     "machine was busy or throttled"});
  EXPECT_EQ(remarks_on({{"gap_ms", zero}}),
            std::vector<std::string>{"gap_ms: the quartiles lie 1 ms apart around a median of 0; "
                                     "the machine was busy or throttled"});
}

TEST(Statistics, TimesThatNeitherArithmeticNorMemoryExplainsAreRemarked) {
  const auto remarks = [](double compute, double memory) {
    return remarks_on({{"compute_limit_ratio", Metric{.value = compute, .unit = "ratio"}},
                       {"memory_limit_ratio", Metric{.value = memory, .unit = "ratio"}}});
  };
  EXPECT_TRUE(remarks(0.005, 0.9).empty());  // decoding at batch 1 needs little arithmetic
  EXPECT_TRUE(remarks(0.9, 0.005).empty());
  ASSERT_EQ(remarks(0.002, 0.01).size(), 1u);
  EXPECT_NE(remarks(0.002, 0.01)[0].find("0.002 and memory_limit_ratio 0.010"), std::string::npos);
  EXPECT_EQ(remarks_on({{"compute_limit_ratio", Metric{.value = 0.002, .unit = "ratio"}}}).size(),
            1u);
  EXPECT_TRUE(remarks_on({{"ttft_ms", Metric{.value = 1, .unit = "ms"}}}).empty());
  // A prefill of a few tokens is limited by memory, although no metric divides by its rate.
  EXPECT_TRUE(remarks_on({{"compute_limit_ratio", Metric{.value = 0.005, .unit = "ratio"}},
                          {"ttft_over_limit", Metric{.value = 1.1, .unit = "ratio"}}})
                  .empty());
}

TEST(Statistics, DisturbedMetricsAreRemarked) {
  Metric metric = metric_of(summarize(std::vector<double>{10, 10.5, 11}), "ms");
  EXPECT_FALSE(metric.disturbed);
  metric.disturbed = disturbed_mark(2, 3, 2);
  EXPECT_TRUE(metric.disturbed);
  const std::vector<std::string> remarks = remarks_on({{"e2e_ms", metric}, {"ttft_ms", metric}});
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0].find("e2e_ms, ttft_ms: 2 of 3 samples lost their cores"), 0u) << remarks[0];
}

TEST(Statistics, GenerationsThatRoundingDoesNotExplainAreRemarked) {
  const auto metrics = [](double unexplained) {
    return Metrics{{"generations", {.value = 24, .unit = "generations"}},
                   {"unexplained", {.value = unexplained, .unit = "generations"}}};
  };
  EXPECT_EQ(inexact_remark(metrics(0)), "");
  EXPECT_EQ(inexact_remark({{"ttft_ms", Metric{.value = 1, .unit = "ms"}}}), "");
  EXPECT_TRUE(remarks_on(metrics(0)).empty());
  const std::string remark = inexact_remark(metrics(1));
  EXPECT_NE(remark.find("NOT EXACT: 1 of 24"), std::string::npos) << remark;
  EXPECT_EQ(remarks_on(metrics(1)), std::vector<std::string>{remark});
}

TEST(Hash, KnowsThePublishedValuesOfFnv1a) {
  EXPECT_EQ(hash_text(hash_bytes("")), "cbf29ce484222325");
  EXPECT_EQ(hash_text(hash_bytes("a")), "af63dc4c8601ec8c");
  EXPECT_EQ(hash_text(hash_bytes("foobar")), "85944171f73967e8");
}

TEST(Hash, GoesOnOverPieces) {
  EXPECT_EQ(hash_bytes("bar", hash_bytes("foo")), hash_bytes("foobar"));
  const std::vector<int32_t> ids = {1, -1};
  EXPECT_EQ(hash_ids(ids), hash_bytes(std::string_view("\1\0\0\0\xff\xff\xff\xff", 8)));
}

TEST(Provenance, NamesCompilerFlagsAndRevision) {
  const Json facts = json_of(written_fields(provenance()));
  EXPECT_NE(facts["flags"].get<std::string>().find("-Wshadow"), std::string::npos);
  EXPECT_FALSE(facts["compiler"].get<std::string>().empty());
  EXPECT_FALSE(facts["revision"].get<std::string>().empty());
  for (const char* library : {"highway", "libtorch"})
    EXPECT_FALSE(facts["libraries"][library].get<std::string>().empty()) << library;
}

TEST(Time, LooksLikeIso8601) {
  const std::string now = utc_now();
  ASSERT_EQ(now.size(), 24u);
  EXPECT_EQ(now[10], 'T');
  EXPECT_EQ(now.back(), 'Z');
}

}  // namespace
}  // namespace reprise::results
