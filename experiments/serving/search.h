// Searches the highest rate that meets a service level.
//
// A trial is one run at a rate. A rate passes if its trials are VALID and decide() finds that they
// meet the service level (kMet). If decide() is undecided, another trial's counts are added, up to
// most_trials trials. Each decision has the level (1 - confidence) / most_trials, so that repeated
// decisions do not raise the chance of an error. A rate does not pass if it stays undecided, if a
// run is INVALID, or if a run of at least 60 requests has a queue that grew until the end. Starting
// at first_rps, rates are doubled or halved until one rate passes and a higher rate does not. Then
// the range between the two is bisected at geometric means.
//
// Halving ends early if no lower rate can pass:
//   at least half of the requests had the server to themselves, and decide() finds that these
//   requests miss the service level;
//   a rate stays undecided although no request missed the level, or although nine of ten requests
//   had the server to themselves: there are too few requests to decide; or
//   a run has fewer requests than its rules ask for.
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
  int64_t requests = 0;                   // requests that ended
  int64_t over_slo = 0;                   // ended requests not within the service level
  int64_t alone = 0, alone_over_slo = 0;  // of the requests that had the server to themselves
  std::string invalid_reason;             // "": VALID
  bool is_short = false;                  // see Verdict
};

// Returns the counts of a run whose rules include the service level. A run that is INVALID only
// because it has too few requests to bound the percentile still counts, because trials are added
// up.
[[nodiscard]] RateTrial trial_of(const Verdict& verdict);

struct SearchOptions {
  double first_rps = 1;                     // the first rate
  double least_rps = 1e-3, most_rps = 1e6;  // range of rates, both ends included
  double resolution = 0.02;  // the search ends at above_rps <= (1 + resolution) * highest_rps
  int64_t most_trials = 4;   // most trials at one rate
  double percentile = 0.99, confidence = 0.95;  // for the decision on each rate
};

// Returns the rule for the decision on each rate.
[[nodiscard]] EarlyStopping decision_rule(const SearchOptions& options);

struct SearchStep {
  double rate_rps = 0;
  SloOutcome outcome = SloOutcome::kUndecided;
  RateTrial total;  // sum of the trials at this rate
  int64_t trials = 0;
};

struct SearchResult {
  double highest_rps = 0;  // highest rate that passed; 0: none did
  // The lowest rate that did not pass; infinity if all up to most_rps passed.
  double above_rps = std::numeric_limits<double>::infinity();
  // Halving ended early, at the last step, because of the requests' times or of their number.
  bool is_out_of_reach = false, is_too_small = false;
  std::vector<SearchStep> steps;  // rates in the order they were tried
};

// Searches as described at the top of this file. Calls trial(rate, k) for trial k = 0, 1, ... at a
// rate; k should select the trial's seed. Throws Error unless 0 < least <= first <= most <
// infinity, resolution > 0 and most_trials > 0.
[[nodiscard]] SearchResult search(
    const std::function<RateTrial(double rate_rps, int64_t trial)>& trial,
    const SearchOptions& options);

}  // namespace reprise::experiments::serving
