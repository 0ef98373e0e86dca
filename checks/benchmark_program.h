// Google Benchmark programs: finds them, lists their benchmarks and runs one benchmark.
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
  std::string name;  // the program's name for it
  // Name shown in tables, e.g. "attention_bench/SharedDecode/...".
  [[nodiscard]] std::string id() const;
};

// Lists all benchmarks of `place`: one program, or the executables *_bench of a folder, sorted by
// name. A name that a program lists twice is there once. Throws Error if there is no such place or
// program, and as run_child() does.
std::vector<Benchmark> list_benchmarks(const std::filesystem::path& place,
                                       const std::atomic<bool>& stop);

// Keeps the ids that contain a match of the regular expression `filter`; "" keeps all. Throws Error
// if the expression is invalid or takes too long.
std::vector<std::string> matching(std::vector<std::string> ids, const std::string& filter);

// Keeps the benchmarks whose id contains a match of the regular expression `filter`, as matching()
// does. Throws Error, naming one id, if no benchmark is left.
std::vector<Benchmark> filtered(std::vector<Benchmark> benchmarks, const std::string& filter);

// The minimum time and the number of repetitions that one process measures.
struct RunPlan {
  double min_time_s = 0.01;  // least time of one repetition
  int repetitions = 1;
};

struct Run {
  Repetition fastest;
  double wall_s = 0;  // time of the whole process, set-up included
};

// Runs the benchmark in a fresh process and keeps its fastest repetition. Other programs only add
// time, so the fastest of several short repetitions is nearest to the code's own time [Chen and
// Revels, Robust benchmarking in noisy environments, 2016]. Differences between processes, such as
// memory layout, average out because a check runs many processes.
Run run_benchmark(const Benchmark& benchmark, const RunPlan& plan, const std::atomic<bool>& stop);

// Finds, by trial runs, a plan with which a process takes about 0.12 s, or longer if the
// benchmark's set-up takes long.
RunPlan plan_for(const Benchmark& benchmark, const std::atomic<bool>& stop);

}  // namespace reprise::checks
