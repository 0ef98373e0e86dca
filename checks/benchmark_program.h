// Google Benchmark programs: which there are, what they hold, and one run of one benchmark.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "checks/benchmark_output.h"

namespace reprise::checks {

// One benchmark of one program.
struct Benchmark {
  std::filesystem::path program;
  std::string name;                      // as the program calls it
  [[nodiscard]] std::string id() const;  // "attention_bench/SharedDecode/...": what tables show
};

// All benchmarks of `place`: one program, or a folder whose executables *_bench are taken, in the
// order of their names. Throws Error if there is no such place or no such program in it, and what
// run_child throws.
std::vector<Benchmark> list_benchmarks(const std::filesystem::path& place,
                                       const std::atomic<bool>& stop);

// Those whose id holds a match of the regular expression `filter`; all for "". Throws Error for an
// expression that cannot be read or takes too long, and where nothing is left, with one of the ids.
std::vector<Benchmark> filtered(std::vector<Benchmark> benchmarks, const std::string& filter);

// How one process measures.
struct RunPlan {
  double min_time_s = 0.01;  // of one repetition, at least
  int repetitions = 1;
};

struct Run {
  Repetition fastest;
  double wall_s = 0;  // of the whole process, its set-up included
};

// Runs the benchmark in a fresh process, and keeps its fastest repetition: neighbours only ever add
// time, so the fastest of some short ones is the nearest to what the code needs [Chen and Revels,
// Robust benchmarking in noisy environments, 2016]. What differs from process to process, such as
// where memory lies, is left to the many processes of a check.
Run run_benchmark(const Benchmark& benchmark, const RunPlan& plan, const std::atomic<bool>& stop);

// A plan whose process takes some 0.12 s where set-up allows it; finds out by trying.
RunPlan plan_for(const Benchmark& benchmark, const std::atomic<bool>& stop);

}  // namespace reprise::checks
