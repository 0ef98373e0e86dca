// The whole check: first A/A pairs (the same program twice), then rounds until each benchmark has
// its verdict or has used up its time.
#pragma once

#include <string>
#include <variant>

#include "checks/comparison.h"
#include "checks/design.h"

namespace reprise::checks {

// A benchmark that the candidate and the baseline both have.
struct Subject {
  std::string id;
  Benchmark candidate;
  std::variant<Benchmark, BaselineEntry> baseline;
};

// The benchmarks that are compared, and the ids of those that only one side has.
struct Pairing {
  std::vector<Subject> subjects;
  std::vector<std::string> only_candidate, only_baseline;
};

// Pairs benchmarks by id or, if `by_name`, by benchmark name, whatever the two programs are called.
// `filter` is the expression that chose the candidates; benchmarks of the baseline without a match
// of it are ignored. Throws Error if nothing is in common, naming a benchmark of each side.
Pairing match(const std::vector<Benchmark>& candidates, const std::vector<Benchmark>& baselines,
              bool by_name, const std::string& filter);
Pairing match(const std::vector<Benchmark>& candidates, const Baseline& baseline,
              const std::string& file, const std::string& filter);

struct CheckOptions {
  double margin = 0.03;  // smallest ratio - 1 of time that matters
  double budget_s = 20;  // seconds for the rounds of one benchmark
  // Probability that at least one interval of the whole check, at any look, is wrong.
  double false_alarm = 0.01;
  uint64_t seed = 1;  // for the order of the programs and of the benchmarks
  // Most A/A pairs per benchmark. Beyond the first 5, no more are run once rounds of this number of
  // pairs would take half of budget_s.
  int calibration_rounds = 10;
};

inline constexpr int kMostRounds = 150;  // with more, the exact tests take longer than the rounds

// If the candidate's median cpu_share is below this, other programs disturb its times. Differences
// then look smaller than they are, so "same" is never reported.
inline constexpr double kLeastCpuShare = 0.8;

struct BenchmarkResult {
  std::string id;
  Verdict verdict = Verdict::kUndecided;
  results::Shift shift;  // log(candidate's time / baseline's) and its interval at level `alpha`
  double alpha = 0;      // error level of the last look
  double p_value = 1;
  Margins margins;
  Noise noise;
  std::vector<double> same_differences;  // log ratios of the A/A pairs
  int rounds = 0, most_rounds = 0;
  RunPlan plan;
  std::optional<Limit> limit;
  Side baseline, candidate;
};

struct CheckOutcome {
  std::vector<BenchmarkResult> results;  // one per subject that ran, in order
  std::vector<std::string> skipped;      // ids of subjects without a result: see Skipped
  bool was_interrupted = false;          // true: some results may be undecided
};

class CheckObserver {
 public:
  virtual ~CheckObserver() = default;
  // Trial runs of a benchmark find out how long its processes take.
  virtual void planning(int benchmark, int of) = 0;
  virtual void left_out(const Skipped& benchmark) = 0;
  virtual void calibrating(int round, int of) = 0;
  // `rounds_left_s` is the wall time until all budgets are used up; verdicts usually come sooner.
  virtual void measuring(int decided, int of, double rounds_left_s) = 0;
  virtual void decided(const BenchmarkResult& result) = 0;
};

// Benchmarks take turns in a new random order each round, so that a slow minute of the machine
// affects all of them. Throws Error for failures, and Interrupted if stopped before there is
// anything to report.
CheckOutcome run_check(const std::vector<Subject>& subjects, const CheckOptions& options,
                       const Bench& bench, CheckObserver& observer);

}  // namespace reprise::checks
