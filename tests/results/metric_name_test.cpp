// Tests how percentiles are read from records by name.
#include "results/metric_name.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
  Json many = metric_json(summarize(samples), "ms");
  add_percentiles(samples, many);
  samples.resize(298);
  Json few = metric_json(summarize(samples), "ms");
  add_percentiles(samples, few);
  const Json metrics = {{"many", many}, {"few", few}, {"plain", metric_json(3.0, "GB/s")}};
  EXPECT_EQ(shown_metric(metrics, "many"), many);
  EXPECT_EQ(shown_metric(metrics, "many.p99"), Json({{"value", many["p99"]}, {"unit", "ms"}}));
  EXPECT_FALSE(has_too_few_samples(metrics, "many.p99"));
  EXPECT_TRUE(shown_metric(metrics, "few.p99").is_null());
  EXPECT_TRUE(has_too_few_samples(metrics, "few.p99"));
  EXPECT_FALSE(has_too_few_samples(metrics, "few"));
  EXPECT_FALSE(has_too_few_samples(metrics, "few.p95"));
  for (const char* name : {"plain.p99", "none", "none.p99"}) {
    EXPECT_TRUE(shown_metric(metrics, name).is_null()) << name;
    EXPECT_FALSE(has_too_few_samples(metrics, name)) << name;
  }
  EXPECT_EQ(percentile_names(), (std::vector<std::string>{"p50", "p90", "p95", "p99", "p99.9"}));
}

}  // namespace
}  // namespace reprise::results
