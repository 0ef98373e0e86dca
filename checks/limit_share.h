// Computes how near a benchmark comes to the machine's limits.
#pragma once

#include <optional>

#include "checks/benchmark_output.h"
#include "core/device/machine_probe.h"

namespace reprise::checks {

// Returns the limit that a repetition comes nearest to by its counters "B/s" and "FLOP/s"; empty if
// it has_limit_share() of none. FLOPs count against the bf16 limit, or f32 if the label is "f32".
// Bytes count against DRAM. They count against L3 or L2 if the rate exceeds 1.5 times the limit of
// the next slower level; the factor is there because limits may have been measured in a slow
// moment. GPU runs count against the GPU's limits from their own counters, "device B/s" and "device
// FLOP/s".
std::optional<Limit> nearest_limit(const Repetition& repetition, const MachineLimits& machine);

// Returns the limit, in GB/s or GFLOP/s, of the GPU on which the repetition ran. The limit is in
// the repetition's counters. Throws Error naming the benchmark if it lacks the counter.
double device_limit(const Repetition& repetition, Limit limit);

// True if the repetition has the counters that its share of `limit` follows from.
bool has_limit_share(const Repetition& repetition, Limit limit);

// Returns the share of `limit_value` (GB/s or GFLOP/s) that a repetition reached: 0..1, above 1 if
// the measurement was disturbed. Throws Error naming the benchmark if it lacks the counter.
double limit_share(const Repetition& repetition, Limit limit, double limit_value);

}  // namespace reprise::checks
