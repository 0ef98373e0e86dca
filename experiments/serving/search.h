// Searches the highest rate that meets a service level.
//
// A rate passes if its run is VALID and so few of its requests miss the service level that the
// percentile's upper bound lies within it (kMet of decide()). If this is undecided, another trial
// is added to its counts, up to most_trials. Each trial is decided at the level (1 - confidence) /
// most_trials, so that repeated looks do not raise the chance of an error. A rate does not pass if
// it stays undecided, has an INVALID run, or has a run of at least 60 requests whose queue grew to
// the end. Rates are doubled or halved from first_rps until one passes and a higher one does not,
// and then bisected (geometric means).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "experiments/serving/early_stopping.h"
#include "experiments/serving/validity.h"

namespace reprise::experiments::serving {

// The counts of one run at one rate.
struct RateTrial {
  int64_t requests = 0;        // requests that ended
  int64_t over_slo = 0;        // ended requests not within the service level
  std::string invalid_reason;  // "": VALID
};

// The counts of a run whose rules have the service level. A run that is too small to bound the
// percentile by itself still counts, because trials are added up.
[[nodiscard]] RateTrial trial_of(const Verdict& verdict);

struct SearchOptions {
  double first_rps = 1;                         // the first rate
  double least_rps = 1e-3, most_rps = 1e6;      // range of rates, both ends included
  double resolution = 0.02;                     // end: above_rps <= (1 + resolution) * highest_rps
  int64_t most_trials = 4;                      // most trials at one rate
  double percentile = 0.99, confidence = 0.95;  // for the decision on each rate
};

struct SearchStep {
  double rate_rps = 0;
  SloOutcome outcome = SloOutcome::kUndecided;
  RateTrial total;  // sum of its trials
  int64_t trials = 0;
};

struct SearchResult {
  double highest_rps = 0;  // highest rate that passed; 0: none did
  // The lowest rate that did not pass; infinity if all up to most_rps passed.
  double above_rps = std::numeric_limits<double>::infinity();
  std::vector<SearchStep> steps;  // rates in the order they were tried
};

// Searches as described at the top of this file. Calls trial(rate, k) for trial k = 0, 1, ... at a
// rate; k should select the trial's seed. Throws Error unless 0 < least <= first <= most <
// infinity, resolution > 0 and most_trials > 0.
[[nodiscard]] SearchResult search(
    const std::function<RateTrial(double rate_rps, int64_t trial)>& trial,
    const SearchOptions& options);

}  // namespace reprise::experiments::serving
