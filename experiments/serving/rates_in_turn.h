// Compares the rates of methods or servers that were measured in turn.
#pragma once

#include <vector>

#include "experiments/framework/kind.h"

namespace reprise::experiments::serving {

inline const MetricInfo kThroughputSpeedup = {
    "throughput_speedup", "ratio",
    "this method's served requests a second over the first one's, repetition by repetition"};

// Adds the number of repetitions and the speed-up over the first method. A repetition in which the
// first method served no request has no speed-up.
//   rates, first  [repetitions]  served requests a second
void add_rates(const std::vector<double>& rates, const std::vector<double>& first,
               Measurement& out);

}  // namespace reprise::experiments::serving
