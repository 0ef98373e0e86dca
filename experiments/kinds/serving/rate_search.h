// Searches the highest rate at which a method keeps the group's service level.
#pragma once

#include <atomic>

#include "experiments/framework/kind.h"
#include "experiments/kinds/serving/serving_axes.h"
#include "experiments/kinds/shared/bench.h"
#include "workloads/serving/request_source.h"

namespace reprise::experiments {

[[nodiscard]] std::vector<MetricInfo> rate_search_metrics();

// Whether a search is asked for instead of one run at rate_rps, where a search begins.
[[nodiscard]] bool searches_rate(const SearchAxes& axes);
// Throws Error for a search without a service level, or of arrivals that have no one rate.
void check_rate_search(const ServingAxes& axes);

// Searches as experiments/serving/search.h describes; trial n of a rate draws its arrivals by seed
// + n. The measurement is that of the last run at the highest rate that passed, or at the lowest
// rate that was tried if none did. Throws Interrupted when `stop` is set.
[[nodiscard]] Measurement search_rate(const Group& group, const MethodChoice& method,
                                      const workloads::RequestSource& source, Bench& bench,
                                      const Machine& machine, const std::atomic<bool>& stop);

}  // namespace reprise::experiments
