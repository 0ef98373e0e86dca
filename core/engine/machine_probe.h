// What this machine can do at most, measured: the denominators of every "fraction of the limit".
#pragma once

#include <string>

#include "core/base/json.h"
#include "core/base/threads.h"

namespace reprise::engine {

struct MachineLimits {
  double dram_read_gb_s = 0;  // all threads streaming a buffer far larger than L3, on huge pages
  double l3_read_gb_s = 0;    // all threads, working set in L3
  double l2_read_gb_s = 0;    // all threads, working set in each core's L2
  double f32_gflop_s = 0;     // all threads, fused multiply-add in registers
  double bf16_gflop_s =
      0;  // all threads, bf16 dot product in registers; f32 rate where the processor has none
  double elapsed_s = 0;  // that the probe took (below 3 s)
};

// Measures in under 3 s; each figure is the best of several short trials, since disturbance only
// ever slows.
MachineLimits probe_machine(const Context& context);

// Facts and limits as they stand in records: cpu, cores, isa, threads, caches, huge pages, limits.
Json machine_json(const Context& context, const MachineLimits& limits);

}  // namespace reprise::engine
