#include "app/check_report.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/json.h"

namespace reprise::app {
namespace {

using checks::BenchmarkResult;
using checks::Verdict;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Json json_of_one(const BenchmarkResult& result) {
  return json_of(check_json({.results = {result}}, {}, {}))["benchmarks"][0];
}

Json ratio_of(const BenchmarkResult& result) { return json_of_one(result)["time_ratio"]; }

TEST(CheckReport, ARatioThatWasNotMeasuredIsNull) {
  BenchmarkResult result{.id = "a_bench/X"};
  Json ratio = ratio_of(result);
  for (const char* key : {"value", "low", "high"}) EXPECT_TRUE(ratio[key].is_null()) << ratio;
  result.rounds = 2;
  result.shift = {.estimate = 0, .low = -kInfinity, .high = kInfinity};
  ratio = ratio_of(result);
  EXPECT_EQ(ratio["value"], 1.0);
  for (const char* key : {"low", "high"}) EXPECT_TRUE(ratio[key].is_null()) << ratio;
  result.shift = {.estimate = 0, .low = 0, .high = 0};
  EXPECT_EQ(ratio_of(result)["low"], 1.0);
}

TEST(CheckReport, APValueThatWasNotComputedIsNull) {
  BenchmarkResult result{.id = "a_bench/X"};
  EXPECT_TRUE(json_of_one(result)["p_value"].is_null());
  result.rounds = 2;
  EXPECT_EQ(json_of_one(result)["p_value"], 1.0);
}

TEST(CheckReport, ConfidenceAgainstAFileNamesItsAssumption) {
  BenchmarkResult result{.id = "a_bench/X"};
  const char* assumption = "if samples are independent";
  result.baseline = {.times_s = {1}, .cpu_shares = {1}};
  EXPECT_EQ(check_table({result}, {}).find(assumption), std::string::npos);
  result.baseline = {.times_s = {1}, .limit_shares = {1}};
  EXPECT_NE(check_table({result}, {}).find(assumption), std::string::npos);
}

TEST(CheckReport, SaysWhatWouldDecide) {
  BenchmarkResult result{.id = "a_bench/X", .verdict = Verdict::kUndecided, .rounds = 20};
  const auto says = [&](const char* text) {
    return check_table({result}, {}).find(text) != std::string::npos;
  };
  EXPECT_TRUE(says("a larger --budget decides"));
  result.rounds = checks::kMostRounds;
  EXPECT_TRUE(says("1 undecided after 150 rounds"));
  EXPECT_FALSE(says("a larger --budget decides"));
  result.candidate.cpu_shares = {0.4, 0.5, 0.6};
  EXPECT_TRUE(says("median CPU share of 0.50: below 0.80"));
  EXPECT_FALSE(says("after 150 rounds"));
}

}  // namespace
}  // namespace reprise::app
