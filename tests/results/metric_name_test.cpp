// Tests how percentiles are read from records by name.
#include "results/metric_name.h"
#include "tests/results/sample_record.h"

#include <gtest/gtest.h>

#include "results/statistics.h"
#include "tests/support/json.h"

namespace reprise::results {
namespace {

TEST(MetricName, TheFirstDotEndsTheMetric) {
  EXPECT_EQ(split_metric_name("ttft_ms").metric, "ttft_ms");
  EXPECT_FALSE(split_metric_name("ttft_ms").names_percentile);
  const MetricName tail = split_metric_name("ttft_ms.p99.9");
  EXPECT_EQ(tail.metric, "ttft_ms");
  EXPECT_TRUE(tail.names_percentile);
  EXPECT_EQ(tail.percentile, "p99.9");
  EXPECT_TRUE(split_metric_name("ttft_ms.").names_percentile);
}

TEST(MetricName, PercentilesAreShownWhereTheSamplesSupportThem) {
  std::vector<double> samples;
  for (int i = 1; i <= 299; ++i) samples.push_back(i);
  Metric many = metric_of(summarize(samples), "ms");
  add_percentiles(samples, many);
  samples.resize(298);
  Metric few = metric_of(summarize(samples), "ms");
  add_percentiles(samples, few);
  const Metrics metrics = {{"many", many}, {"few", few}, {"plain", {.value = 3.0, .unit = "GB/s"}}};
  EXPECT_EQ(json_of_metric(shown_metric(metrics, "many").value()), json_of_metric(many));
  EXPECT_EQ(json_of_metric(shown_metric(metrics, "many.p99").value()),
            Json({{"value", many.percentiles.at("p99")}, {"unit", "ms"}}));
  EXPECT_FALSE(has_too_few_samples(metrics, "many.p99"));
  EXPECT_FALSE(shown_metric(metrics, "few.p99"));
  EXPECT_TRUE(has_too_few_samples(metrics, "few.p99"));
  EXPECT_FALSE(has_too_few_samples(metrics, "few"));
  EXPECT_FALSE(has_too_few_samples(metrics, "few.p95"));
  for (const char* name : {"plain.p99", "none", "none.p99"}) {
    EXPECT_FALSE(shown_metric(metrics, name)) << name;
    EXPECT_FALSE(has_too_few_samples(metrics, name)) << name;
  }
  EXPECT_EQ(percentile_names(), (std::vector<std::string>{"p50", "p90", "p95", "p99", "p99.9"}));
}

}  // namespace
}  // namespace reprise::results
