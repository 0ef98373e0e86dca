// One benchmark of a candidate against its baseline: the runs, and what they say so far.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "checks/baseline.h"
#include "checks/benchmark_program.h"
#include "results/rank_test.h"

namespace reprise::checks {

// What the runs of one side gave, one number for each process.
struct Side {
  std::vector<double> times_s;
  std::vector<double> cpu_shares;    // see Repetition; empty for a baseline from a file
  std::vector<double> limit_shares;  // empty where the benchmark has no counter
};

// Shifts and differences are natural logarithms of the ratio candidate / baseline of time, or of
// baseline / candidate of the share of the machine's limit: above 0 is slower in both.
class Comparison {
 public:
  virtual ~Comparison() = default;
  // Runs the same program twice and returns the logarithm of the ratio: an A/A pair.
  virtual double run_same() = 0;
  // Called once after the A/A pairs, before the first round.
  virtual void begin_rounds() = 0;
  virtual void run_round() = 0;
  [[nodiscard]] virtual int rounds() const = 0;
  // Of the rounds so far, at least one.
  [[nodiscard]] virtual results::Shift shift(double alpha) const = 0;
  [[nodiscard]] virtual double p_value() const = 0;
  [[nodiscard]] virtual Side baseline() const = 0;
  [[nodiscard]] virtual const Side& candidate() const = 0;
  // Nearest limit, once begin_rounds was called.
  [[nodiscard]] virtual std::optional<Limit> limit() const = 0;
  [[nodiscard]] virtual const RunPlan& plan() const = 0;
  // Wall time of a round to expect, from the A/A pairs.
  [[nodiscard]] virtual double round_s() const = 0;
};

// What comparisons share: the machine and the wish to stop. Must outlive them.
struct Bench {
  const MachineProbe& probe;
  const MachineLimits& machine;
  const std::atomic<bool>& stop;
};

// Two programs on this machine, one after the other in each round, the coin of (seed, round)
// deciding which goes first; judged by the signed-rank test of the pairs.
std::unique_ptr<Comparison> compare_programs(const Bench& bench, Benchmark baseline,
                                             Benchmark candidate, uint64_t seed);

// A program on this machine against a baseline from a file, both as shares of their own machine's
// limit, which is measured before and after each run; judged by the rank-sum test.
std::unique_ptr<Comparison> compare_with_baseline(const Bench& bench, BaselineEntry baseline,
                                                  Benchmark candidate);

}  // namespace reprise::checks
