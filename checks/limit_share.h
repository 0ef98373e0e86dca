// How near a benchmark comes to what the machine can do.
#pragma once

#include <optional>

#include "checks/benchmark_output.h"
#include "core/device/machine_probe.h"

namespace reprise::checks {

// The limit that a repetition comes nearest to, by its counters "B/s" and "FLOP/s"; nothing for one
// that has neither. FLOPs are held against the bf16 limit, or the f32 limit where the benchmark's
// label is "f32"; bytes against the first of DRAM, L3 and L2 that is not exceeded by half: a
// working set that fits a cache is not read from further away, but neither is a limit that was
// measured in a slow moment of the machine. One that runs on a GPU is held against what the GPU
// reaches by the repetition's own counters.
std::optional<Limit> nearest_limit(const Repetition& repetition, const MachineLimits& machine);

// What the GPU that a repetition ran on reaches, by the repetition's own counters: GB/s or GFLOP/s
// of a device's limit. Throws Error naming the benchmark if it lacks the counter.
double device_limit(const Repetition& repetition, Limit limit);

// Share (0..1, more on a disturbed measurement) of `limit_value` in GB/s or GFLOP/s that a
// repetition reached. Throws Error naming the benchmark if it lacks the counter.
double limit_share(const Repetition& repetition, Limit limit, double limit_value);

}  // namespace reprise::checks
