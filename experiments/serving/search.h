// The highest rate that meets a service level.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "experiments/serving/early_stopping.h"
#include "experiments/serving/validity.h"

namespace reprise::experiments::serving {

// One run at one rate.
struct RateTrial {
  int64_t requests = 0;        // that ended
  int64_t over_slo = 0;        // of them, not within the service level
  std::string invalid_reason;  // of an INVALID run; "": VALID
};

// Of a run whose rules have the service level. That it was too small to bound the percentile by
// itself is no reason against it: trials are added up.
[[nodiscard]] RateTrial trial_of(const Verdict& verdict);

struct SearchOptions {
  double first_rps = 1;                         // where it begins
  double least_rps = 1e-3, most_rps = 1e6;      // between these, both included
  double resolution = 0.02;                     // it ends once the two ends lie so near: relative
  int64_t most_trials = 4;                      // at one rate
  double percentile = 0.99, confidence = 0.95;  // of each rate's decision
};

struct SearchStep {
  double rate_rps = 0;
  SloOutcome outcome = SloOutcome::kUndecided;
  RateTrial total;  // of its trials together
  int64_t trials = 0;
};

struct SearchResult {
  double highest_rps = 0;  // that passed; 0: none did
  // The lowest that did not; infinity where all passed, as far as most_rps.
  double above_rps = std::numeric_limits<double>::infinity();
  std::vector<SearchStep> steps;  // in the order they were tried
};

// A rate passes if its run is VALID and so few of its requests miss the service level that the
// percentile's upper bound lies within it (kMet of decide()); where neither that nor the contrary
// can be said, another trial is added to its counts, up to most_trials, each decided at the level
// (1 - confidence) / most_trials, so that looking often finds nothing by chance. A rate that stays
// undecided, or has an INVALID run, does not pass. Brackets by doubling or halving from first_rps,
// then bisects (geometric means). `trial` gets the rate and the trial's number, 0, 1, ..., which
// seeds it. least <= first <= most, all above 0, resolution above 0 (Error).
[[nodiscard]] SearchResult search(
    const std::function<RateTrial(double rate_rps, int64_t trial)>& trial,
    const SearchOptions& options);

}  // namespace reprise::experiments::serving
