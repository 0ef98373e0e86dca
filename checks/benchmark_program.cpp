#include "checks/benchmark_program.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "core/base/child_process.h"
#include "core/base/error.h"
#include "core/base/visible.h"
#include "core/tokenizer/regex.h"

namespace reprise::checks {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> programs_in(const fs::path& place) {
  std::error_code error;
  if (!fs::exists(place, error))
    raise("{} is not there. Give a benchmark program, or the bin folder of a build.",
          place.string());
  if (!fs::is_directory(place, error)) {
    if (access(place.c_str(), X_OK) != 0)
      raise(
          "{} is no program that can be started. Give a benchmark program, or the bin folder of "
          "a build.",
          place.string());
    return {place};
  }
  std::vector<fs::path> programs;
  for (const auto& entry : fs::directory_iterator(place, error))
    if (entry.is_regular_file(error) && entry.path().filename().string().ends_with("_bench") &&
        access(entry.path().c_str(), X_OK) == 0)
      programs.push_back(entry.path());
  if (programs.empty())
    raise(
        "{} holds no benchmark program (an executable that ends in _bench). `make all` builds them "
        "into build/release/bin; give that folder, or the bin folder of another such build.",
        place.string());
  std::sort(programs.begin(), programs.end());
  return programs;
}

// Returns a regular expression that matches only `name`, both in std::regex and in POSIX.
std::string exactly(const std::string& name) {
  std::string expression = "^";
  for (const char c : name) {
    if (std::string_view(".[{()\\*+?|^$").find(c) != std::string_view::npos) expression += '\\';
    expression += c;
  }
  return expression + "$";
}

// Returns an absolute path, since posix_spawnp would search PATH for a name without a folder.
std::string program_of(const fs::path& program) { return fs::absolute(program).string(); }

}  // namespace

std::string Benchmark::id() const { return program.filename().string() + "/" + name; }

std::vector<Benchmark> list_benchmarks(const fs::path& place, const std::atomic<bool>& stop) {
  std::vector<Benchmark> benchmarks;
  for (const fs::path& program : programs_in(place)) {
    const ChildResult listed =
        run_child({program_of(program), "--benchmark_list_tests=true"}, stop);
    std::istringstream lines(listed.out);
    std::set<std::string> names;  // a program may register a name twice; it runs both at once
    for (std::string name; std::getline(lines, name);)
      if (!name.empty() && names.insert(name).second) benchmarks.push_back({program, name});
  }
  if (benchmarks.empty())
    raise("{} lists no benchmark with --benchmark_list_tests; is it a Google Benchmark program?",
          place.string());
  return benchmarks;
}

std::vector<std::string> matching(std::vector<std::string> ids, const std::string& filter) {
  if (filter.empty()) return ids;
  // The tokenizer's regular expressions have bounded time and depth; std::regex crashes on
  // "((((..." and never ends on "(.*)*(.*)*...".
  const tokenizer::Regex expression(filter, "--filter");
  std::erase_if(ids, [&](const std::string& id) {
    std::vector<tokenizer::Span> spans;
    expression.find_all(visible(id),
                        spans);  // must be valid UTF-8, which a program's output may not be
    return std::none_of(spans.begin(), spans.end(),
                        [](const tokenizer::Span& span) { return span.is_match; });
  });
  return ids;
}

std::vector<Benchmark> filtered(std::vector<Benchmark> benchmarks, const std::string& filter) {
  std::vector<std::string> ids;
  for (const Benchmark& benchmark : benchmarks) ids.push_back(benchmark.id());
  const std::vector<std::string> found = matching(ids, filter);
  const std::set<std::string> kept(found.begin(), found.end());
  std::erase_if(benchmarks,
                [&](const Benchmark& benchmark) { return !kept.contains(benchmark.id()); });
  if (benchmarks.empty())
    raise("--filter {} matches none of the {} benchmarks, such as {}", filter.substr(0, 200),
          ids.size(), ids.front());
  return benchmarks;
}

Run run_benchmark(const Benchmark& benchmark, const RunPlan& plan, const std::atomic<bool>& stop) {
  const ChildResult child =
      run_child({program_of(benchmark.program), "--benchmark_filter=" + exactly(benchmark.name),
                 fmt::format("--benchmark_min_time={}", plan.min_time_s),
                 fmt::format("--benchmark_repetitions={}", plan.repetitions),
                 "--benchmark_report_aggregates_only=false", "--benchmark_format=json"},
                stop);
  const std::vector<Repetition> repetitions =
      parse_benchmark_output(child.out, benchmark.program.string());
  const Repetition* fastest = nullptr;
  for (const Repetition& repetition : repetitions)
    if (repetition.name == benchmark.name &&
        (fastest == nullptr || repetition.time_s < fastest->time_s))
      fastest = &repetition;
  if (fastest == nullptr)
    raise("{} printed no result for its benchmark {}. Run it by hand: {} --benchmark_filter='{}'",
          benchmark.program.string(), benchmark.name, benchmark.program.string(),
          exactly(benchmark.name));
  return {.fastest = *fastest, .wall_s = child.wall_s};
}

RunPlan plan_for(const Benchmark& benchmark, const std::atomic<bool>& stop) {
  constexpr double kProcess_s = 0.12;
  constexpr int kTried = 4, kMost = 25;
  RunPlan plan;
  const double one_s = run_benchmark(benchmark, plan, stop).wall_s;
  if (one_s < kProcess_s) {
    plan.repetitions = kTried;
    const double tried_s = run_benchmark(benchmark, plan, stop).wall_s;
    const double each_s = std::max(1e-3, (tried_s - one_s) / (kTried - 1));
    plan.repetitions = std::clamp(static_cast<int>((kProcess_s - one_s) / each_s) + 1, 1, kMost);
  }
  // If only few repetitions fit, the set-up is long. Longer repetitions then add little to a
  // process's time.
  if (plan.repetitions < kTried) plan.min_time_s = 0.03;
  return plan;
}

}  // namespace reprise::checks
