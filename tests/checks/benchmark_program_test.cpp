#include "checks/benchmark_program.h"

#include <gtest/gtest.h>

#include <atomic>

namespace reprise::checks {
namespace {

TEST(BenchmarkProgram, RunsTheBenchmarkOfExactlyThisName) {
  const std::vector<Benchmark> found = list_benchmarks(AWKWARD_NAMES_PROGRAM, {});
  ASSERT_EQ(found.size(), 2u) << "a name that is listed twice is one benchmark";
  for (const Benchmark& benchmark : found) {
    const checks::Run run = run_benchmark(benchmark, {.min_time_s = 0.001}, {});
    EXPECT_EQ(run.fastest.name, benchmark.name);
  }
}

}  // namespace
}  // namespace reprise::checks
