// Compares one benchmark of a candidate with its baseline: runs it and reports the results so far.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "checks/baseline.h"
#include "checks/benchmark_program.h"
#include "results/rank_test.h"

namespace reprise::checks {

// Results of the runs of one side, the candidate or the baseline. One number per process.
struct Side {
  std::vector<double> times_s;
  std::vector<double> cpu_shares;    // see Repetition; empty for a baseline from a file
  std::vector<double> limit_shares;  // empty if this side has no counter
};

// Shifts and differences are natural logarithms of a ratio: candidate / baseline for times,
// baseline / candidate for shares of the machine's limit. In both cases, above 0 means that the
// candidate is slower.
class Comparison {
 public:
  virtual ~Comparison() = default;
  // Runs the same program twice (an A/A pair) and returns the logarithm of the ratio of the two
  // times or shares.
  virtual double run_same() = 0;
  // Called once after the A/A pairs and before the first round.
  virtual void begin_rounds() = 0;
  virtual void run_round() = 0;
  [[nodiscard]] virtual int rounds() const = 0;
  // Results of the rounds so far; needs at least one.
  [[nodiscard]] virtual results::Shift shift(double alpha) const = 0;
  [[nodiscard]] virtual double p_value() const = 0;
  [[nodiscard]] virtual Side baseline() const = 0;
  [[nodiscard]] virtual const Side& candidate() const = 0;
  // The machine's limit that the benchmark comes nearest to; known once begin_rounds() was called.
  [[nodiscard]] virtual std::optional<Limit> limit() const = 0;
  [[nodiscard]] virtual const RunPlan& plan() const = 0;
  // Expected wall time of a round, from the A/A pairs.
  [[nodiscard]] virtual double round_s() const = 0;
};

// The machine and the request to stop, which all comparisons share. The members must outlive the
// comparisons.
struct Bench {
  const MachineProbe& probe;
  const MachineLimits& machine;
  const std::atomic<bool>& stop;
};

// Compares two programs on this machine. The programs run one after the other in each round, in an
// order drawn from (seed, round); the signed-rank test of the pairs judges them.
std::unique_ptr<Comparison> compare_programs(const Bench& bench, Benchmark baseline,
                                             Benchmark candidate, uint64_t seed);

// Compares a program on this machine with a baseline file. The samples of each side are shares of
// the limit of the machine on which that side ran. The limit is measured before and after each run.
// The rank-sum test judges the samples.
std::unique_ptr<Comparison> compare_with_baseline(const Bench& bench, BaselineEntry baseline,
                                                  Benchmark candidate);

}  // namespace reprise::checks
