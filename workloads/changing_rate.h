// Poisson arrivals whose rate changes during a run: time_s(), the inverse of the rate's integral,
// turns the arrivals of a process of rate 1 into times.
#pragma once

namespace reprise::workloads {

// A rate that goes linearly from `from_rps` to `to_rps` within `ramp_s` and then stays at `to_rps`.
// time_s(x) is the time in seconds by which x requests are expected to have come, x >= 0.
struct RampClock {
  double from_rps = 0;  // >= 0
  double to_rps = 1;    // > 0
  double ramp_s = 1;    // > 0

  [[nodiscard]] double time_s(double x) const;
};

// A rate that alternates: `burst_rps` for `burst_s`, then `between_rps` for `between_s`. time_s(x)
// is defined as in RampClock.
struct BurstClock {
  double burst_rps = 1;    // > 0
  double between_rps = 0;  // >= 0
  double burst_s = 1;      // > 0
  double between_s = 1;    // >= 0

  [[nodiscard]] double time_s(double x) const;
};

}  // namespace reprise::workloads
