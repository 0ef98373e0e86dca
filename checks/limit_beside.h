// A run with the machine's limit measured in the same breath.
#pragma once

#include "checks/comparison.h"

namespace reprise::checks {

struct Sample {
  double time_s = 0;
  double cpu_share = 1;    // see Repetition
  double limit = 0;        // GB/s or GFLOP/s: the better of one measured before and one after, or
                           // a device's as the run itself measured it
  double limit_share = 0;  // that the run reached
  double wall_s = 0;       // of everything
};

Sample sample_beside_limit(const Bench& bench, const Benchmark& benchmark, const RunPlan& plan,
                           Limit limit);

}  // namespace reprise::checks
