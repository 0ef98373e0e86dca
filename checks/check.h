// The whole check: A/A pairs first, then rounds until each benchmark has its verdict or its time is
// up.
#pragma once

#include <string>
#include <variant>

#include "checks/comparison.h"
#include "checks/design.h"

namespace reprise::checks {

// Benchmarks both sides have.
struct Subject {
  std::string id;
  Benchmark candidate;
  std::variant<Benchmark, BaselineEntry> baseline;
};

// By id; two single programs by the names of their benchmarks, whatever the programs are called.
// Throws Error where no benchmark is in both, naming one of each.
std::vector<Subject> match(const std::vector<Benchmark>& candidates,
                           const std::vector<Benchmark>& baselines);
std::vector<Subject> match(const std::vector<Benchmark>& candidates, const Baseline& baseline,
                           const std::string& file);

struct CheckOptions {
  double margin = 0.03;       // ratio - 1 of time from which a change matters
  double budget_s = 20;       // of rounds, for each benchmark
  double false_alarm = 0.01;  // that any interval of the whole check, at any look, is wrong
  uint64_t seed = 1;          // of coins and orders
  // A/A pairs of each benchmark; fewer, but at least 5, where they would take half the budget.
  int calibration_rounds = 10;
};

// Below this median share of its own time on a processor, a candidate's times tell of neighbours as
// much as of the program: a difference still shows, but too small, so that "same" is not said.
inline constexpr double kLeastCpuShare = 0.8;

struct BenchmarkResult {
  std::string id;
  Verdict verdict = Verdict::kUndecided;
  results::Shift shift;  // logarithms, at the level of the last look
  double alpha = 0;      // that level
  double p_value = 1;
  Margins margins;
  Noise noise;
  std::vector<double> same_differences;  // of the A/A pairs
  int rounds = 0, most_rounds = 0;
  RunPlan plan;
  std::optional<Limit> limit;
  Side baseline, candidate;
};

struct CheckOutcome {
  std::vector<BenchmarkResult> results;  // in the order of the subjects
  bool was_interrupted = false;          // then some may be undecided for want of rounds
};

class CheckObserver {
 public:
  virtual ~CheckObserver() = default;
  virtual void calibrating(int round, int of) = 0;
  // `rounds_left_s`: wall time until all budgets are used up; verdicts usually come sooner.
  virtual void measuring(int decided, int of, double rounds_left_s) = 0;
  virtual void decided(const BenchmarkResult& result) = 0;
};

// Benchmarks take turns, in a new random order in each round, so that a slow minute of the machine
// meets them all. Throws Error for what goes wrong, and Interrupted before there is anything to
// report.
CheckOutcome run_check(const std::vector<Subject>& subjects, const CheckOptions& options,
                       const Bench& bench, CheckObserver& observer);

}  // namespace reprise::checks
