#include "checks/record.h"

#include <algorithm>

#include "checks/limit_beside.h"
#include "checks/limit_share.h"
#include "core/base/error.h"
#include "core/base/random.h"

namespace reprise::checks {
namespace {

struct Recording {
  const Benchmark* benchmark;
  RunPlan plan;
  int64_t samples = 0;  // planned; 0 once the benchmark is left out
  BaselineEntry entry;
};

// Finds the nearest limit from the fastest of kTried runs, since a disturbed run may come nearest
// to another limit.
Recording start(const Benchmark& benchmark, const RecordOptions& options, const Bench& bench) {
  constexpr int kTried = 3;
  const RunPlan plan = plan_for(benchmark, bench.stop);
  Run fastest = run_benchmark(benchmark, plan, bench.stop);
  for (int i = 1; i < kTried; ++i)
    if (const Run run = run_benchmark(benchmark, plan, bench.stop);
        run.fastest.time_s < fastest.fastest.time_s)
      fastest = run;
  const auto limit = nearest_limit(fastest.fastest, bench.machine);
  if (!limit.has_value())
    raise(
        "benchmark {} has neither counter \"B/s\" nor \"FLOP/s\" (on a GPU together with \"device "
        "B/s\" or \"device FLOP/s\"), so it cannot be compared across machines. Set one in the "
        "benchmark, or leave it out with --filter.",
        benchmark.id());
  const double affordable = options.budget_s / fastest.wall_s;
  return {
      .benchmark = &benchmark,
      .plan = plan,
      .samples = static_cast<int64_t>(std::clamp<double>(affordable, kLeastSamples, kMostSamples)),
      .entry = {.program = benchmark.program.filename().string(),
                .name = benchmark.name,
                .limit = *limit}};
}

bool is_kept(const Recording& recording) { return recording.samples > 0; }

void take_sample(const Bench& bench, Recording& recording) {
  const Sample sample =
      sample_beside_limit(bench, *recording.benchmark, recording.plan, recording.entry.limit);
  recording.entry.times_s.push_back(sample.time_s);
  recording.entry.limits.push_back(sample.limit);
  recording.entry.limit_shares.push_back(sample.limit_share);
}

}  // namespace

std::vector<BaselineEntry> record(const std::vector<Benchmark>& benchmarks,
                                  const RecordOptions& options, const Bench& bench,
                                  RecordObserver& observer) {
  std::vector<Recording> recordings;
  int64_t planned = 0, done = 0;
  for (size_t i = 0; i < benchmarks.size(); ++i) {
    observer.planning(static_cast<int>(i), static_cast<int>(benchmarks.size()));
    try {
      recordings.push_back(start(benchmarks[i], options, bench));
      planned += recordings.back().samples;
    } catch (const Skipped& skipped) {
      if (i + 1 == benchmarks.size() && recordings.empty()) throw;
      observer.left_out(skipped);
    }
  }
  observer.recorded(0, planned);
  for (uint64_t round = 0; done < planned; ++round) {
    std::vector<std::pair<uint64_t, Recording*>> order;
    for (Recording& recording : recordings)
      if (static_cast<int64_t>(recording.entry.times_s.size()) < recording.samples)
        order.emplace_back(random_bits(options.seed, round, order.size()), &recording);
    std::sort(order.begin(), order.end());
    for (const auto& [key, recording] : order) {
      try {
        take_sample(bench, *recording);
        observer.recorded(++done, planned);
      } catch (const Skipped& skipped) {
        planned -= recording->samples - std::ssize(recording->entry.times_s);
        recording->samples = 0;
        if (std::none_of(recordings.begin(), recordings.end(), is_kept)) throw;
        observer.left_out(skipped);
      }
    }
  }
  std::vector<BaselineEntry> entries;
  for (Recording& recording : recordings)
    if (is_kept(recording)) entries.push_back(std::move(recording.entry));
  return entries;
}

}  // namespace reprise::checks
