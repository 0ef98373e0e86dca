// Runs a benchmark, and measures the machine's limit right before and right after the run.
#pragma once

#include "checks/comparison.h"

namespace reprise::checks {

struct Sample {
  double time_s = 0;
  double cpu_share = 1;  // see Repetition
  // The machine's limit in GB/s or GFLOP/s: the better of two measurements, right before and right
  // after the run. A GPU's limit is the value that the run itself measured.
  double limit = 0;
  double limit_share = 0;  // share of the limit that the run reached
  double wall_s = 0;       // time of the run and the limit measurements together
};

Sample sample_beside_limit(const Bench& bench, const Benchmark& benchmark, const RunPlan& plan,
                           Limit limit);

}  // namespace reprise::checks
