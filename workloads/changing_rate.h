// Arrivals whose rate changes in the course of a run: a Poisson process seen through a clock that
// runs as fast as the rate.
#pragma once

namespace reprise::workloads {

// The time until which x requests are expected, of a rate that goes in a line from `from_rps` to
// `to_rps` within `ramp_s` and stays there; x >= 0.
struct RampClock {
  double from_rps = 0;  // >= 0
  double to_rps = 1;    // > 0
  double ramp_s = 1;    // > 0

  [[nodiscard]] double time_s(double x) const;
};

// The same of a rate that is `burst_rps` for `burst_s`, then `between_rps` for `between_s`, and so
// on.
struct BurstClock {
  double burst_rps = 1;    // > 0
  double between_rps = 0;  // >= 0
  double burst_s = 1;      // > 0
  double between_s = 1;    // >= 0

  [[nodiscard]] double time_s(double x) const;
};

}  // namespace reprise::workloads
