// Searches the highest rate at which a method or server keeps the group's service level.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "experiments/framework/kind.h"
#include "experiments/kinds/serving/serving_axes.h"
#include "experiments/serving/plan.h"

namespace reprise::experiments {

[[nodiscard]] std::vector<MetricInfo> rate_search_metrics();

// True if the axes ask for a search, which begins at rate_rps, instead of one run at that rate.
[[nodiscard]] bool searches_rate(const SearchAxes& axes);
// Throws Error for a search without a service level or with a rate_rps that is too low, for
// arrivals that do not have one single rate, and for several trials if the arrivals would be the
// same in each trial.
void check_rate_search(const ServingAxes& axes);

// One run of the search: the group and its axes, changed to the run's rate, to the run's seed of
// arrivals, and to enough requests for its rules and for the decision on the rate. With fewer
// requests a run at a high rate would be too short to be VALID, and a low rate could not pass.
struct RateTrialGroup {
  Group group;
  ServingAxes axes;
  bool is_longer = false;  // this run has more requests than the group asks for
};

// Searches as experiments/serving/search.h describes. Trial n of a rate draws its arrivals by the
// group's seed of arrivals + n. Returns the measurement of the last run at the highest rate that
// passed, or, if no rate passed, at the lowest rate that was tried. It has a reservation if the run
// at the next higher rate was INVALID, and if halving ended early. Throws Interrupted when `stop`
// is set, and Error if not one run was measured.
[[nodiscard]] Measurement search_rate(
    const Group& group, const std::function<serving::TrialRun(const RateTrialGroup&)>& run,
    const std::atomic<bool>& stop);

}  // namespace reprise::experiments
