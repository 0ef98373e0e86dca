#include "workloads/changing_rate.h"

#include <algorithm>
#include <cmath>

namespace reprise::workloads {

// Solves from_rps * t + slope * t^2 / 2 = x for t. The usual form of the root, (root - from_rps) /
// slope, would lose digits by cancellation if the slope is small.
double RampClock::time_s(double x) const {
  const double on_ramp = (from_rps + to_rps) / 2 * ramp_s;
  if (x >= on_ramp) return ramp_s + (x - on_ramp) / to_rps;
  if (x <= 0) return 0;
  const double slope = (to_rps - from_rps) / ramp_s;
  const double root = std::sqrt(std::max(0.0, from_rps * from_rps + 2 * slope * x));
  return std::min(ramp_s, 2 * x / (from_rps + root));
}

double BurstClock::time_s(double x) const {
  const double in_burst = burst_rps * burst_s;
  const double in_period = in_burst + between_rps * between_s;
  const double periods = std::floor(x / in_period);
  const double begin_s = periods * (burst_s + between_s);
  const double rest = std::clamp(x - periods * in_period, 0.0, in_period);
  if (rest <= in_burst || between_rps == 0) return begin_s + std::min(burst_s, rest / burst_rps);
  return begin_s + burst_s + std::min(between_s, (rest - in_burst) / between_rps);
}

}  // namespace reprise::workloads
