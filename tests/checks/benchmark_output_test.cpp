#include "checks/benchmark_output.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace reprise::checks {
namespace {

std::string with_run(const std::string& fields) {
  return R"({"context": {"num_cpus": 2}, "benchmarks": [{"name": "Read/8", )" + fields + "}]}";
}

void expect_refused(const std::string& text, const std::vector<std::string>& parts) {
  try {
    (void)parse_benchmark_output(text, "bin/read_bench");
    ADD_FAILURE() << "taken: " << text;
  } catch (const Error& error) {
    for (const std::string& part : parts)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << part << " not in: " << error.what();
  }
}

TEST(BenchmarkOutput, KeepsRepetitionsAndDropsAggregates) {
  const auto runs = parse_benchmark_output(
      R"({"context": {}, "benchmarks": [
        {"name": "Read/8", "run_name": "Read/8", "run_type": "iteration", "real_time": 2.5,
         "cpu_time": 9, "time_unit": "ms", "B/s": 4e9, "label": "f32"},
        {"name": "Read/8", "run_name": "Read/8", "run_type": "iteration", "real_time": 2.0,
         "time_unit": "us", "FLOP/s": 7e9, "device B/s": 3e12, "device FLOP/s": 8e14},
        {"name": "Read/8_mean", "run_name": "Read/8", "run_type": "aggregate", "real_time": 1,
         "time_unit": "ms"}]})",
      "bin/read_bench");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].name, "Read/8");
  EXPECT_EQ(runs[0].label, "f32");
  EXPECT_DOUBLE_EQ(runs[0].time_s, 2.5e-3);
  EXPECT_EQ(runs[0].bytes_per_s, 4e9);
  EXPECT_FALSE(runs[0].flop_per_s.has_value());
  EXPECT_DOUBLE_EQ(runs[1].time_s, 2e-6);
  EXPECT_EQ(runs[1].flop_per_s, 7e9);
  EXPECT_FALSE(runs[0].device_bytes_per_s.has_value());
  EXPECT_EQ(runs[1].device_bytes_per_s, 3e12);
  EXPECT_EQ(runs[1].device_flop_per_s, 8e14);
}

TEST(BenchmarkOutput, KnowsTheUnitsOfTime) {
  for (const auto& [unit, seconds] :
       {std::pair{"ns", 1e-9}, std::pair{"us", 1e-6}, std::pair{"ms", 1e-3}, std::pair{"s", 1.0}})
    EXPECT_DOUBLE_EQ(
        parse_benchmark_output(
            with_run(R"("real_time": 1, "time_unit": ")" + std::string(unit) + "\""), "b")[0]
            .time_s,
        seconds);
  expect_refused(with_run(R"("real_time": 1, "time_unit": "min")"), {"time_unit", "min", "ns"});
}

TEST(BenchmarkOutput, WhatIsWrongIsNamed) {
  expect_refused("", {"bin/read_bench", "not valid JSON"});
  expect_refused(R"({"benchmarks": [{"name": "Re)", {"not valid JSON"});
  expect_refused("[]", {"must be a JSON object"});
  expect_refused(R"({"context": {}})", {"benchmarks", "missing"});
  expect_refused(R"({"benchmarks": 3})", {"must be a list"});
  expect_refused(R"({"benchmarks": [3]})", {"benchmarks[0]"});
  expect_refused(with_run(R"("time_unit": "ms")"), {"real_time", "missing"});
  expect_refused(with_run(R"("real_time": "2", "time_unit": "ms")"), {"real_time", "number"});
  expect_refused(with_run(R"("real_time": 0, "time_unit": "ms")"), {"Read/8", "some work"});
  expect_refused(with_run(R"("real_time": NaN, "time_unit": "ms")"), {"not valid JSON"});
  expect_refused(with_run(R"("real_time": 1, "time_unit": "ms", "B/s": 0)"), {"B/s", "above 0"});
}

TEST(BenchmarkOutput, ABenchmarkThatSkipsItselfHasNoTime) {
  const std::string text =
      with_run(R"("skipped": true, "skip_message": "no GPU", "real_time": 0, "time_unit": "ns")");
  EXPECT_THROW((void)parse_benchmark_output(text, "bin/read_bench"), Skipped);
  expect_refused(text, {"bin/read_bench", "Read/8", "skips itself: no GPU"});
}

TEST(BenchmarkOutput, ABenchmarkThatFailedIsAnErrorWithItsMessage) {
  expect_refused(with_run(R"("error_occurred": true, "error_message": "no memory")"),
                 {"bin/read_bench", "Read/8", "no memory"});
}

}  // namespace
}  // namespace reprise::checks
