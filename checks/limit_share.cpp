#include "checks/limit_share.h"

#include "core/base/error.h"

namespace reprise::checks {
namespace {

Limit memory_limit(double bytes_per_s, const MachineLimits& machine) {
  constexpr double kAbove = 1.5;
  for (const Limit limit : {Limit::kDramRead, Limit::kL3Read})
    if (bytes_per_s * 1e-9 <= kAbove * value_of(machine, limit)) return limit;
  return Limit::kL2Read;
}

bool is_flop_limit(Limit limit) {
  return limit == Limit::kF32 || limit == Limit::kBf16 || limit == Limit::kDeviceHalf;
}

// The counters from which a share of `limit` follows: the rate and, on a device, the device's rate.
const std::optional<double>& rate_of(const Repetition& repetition, Limit limit) {
  return is_flop_limit(limit) ? repetition.flop_per_s : repetition.bytes_per_s;
}
const std::optional<double>& device_rate_of(const Repetition& repetition, Limit limit) {
  return is_flop_limit(limit) ? repetition.device_flop_per_s : repetition.device_bytes_per_s;
}

// Throws Error if the benchmark did not set the counter.
double counter(const std::optional<double>& value, const char* name, const Repetition& repetition,
               Limit limit) {
  if (!value.has_value())
    raise(
        "benchmark {} has no counter \"{}\", so its share of {} is unknown. Set the counter in the "
        "benchmark, or leave it out with --filter.",
        repetition.name, name, name_of(limit));
  return *value;
}

}  // namespace

std::optional<Limit> nearest_limit(const Repetition& repetition, const MachineLimits& machine) {
  std::optional<Limit> nearest;
  double best = 0;
  const auto offer = [&](Limit limit) {
    const double value =
        is_device_limit(limit) ? device_limit(repetition, limit) : value_of(machine, limit);
    const double share = limit_share(repetition, limit, value);
    if (share > best) {
      best = share;
      nearest = limit;
    }
  };
  if (repetition.device_bytes_per_s.has_value() || repetition.device_flop_per_s.has_value()) {
    for (const Limit limit : {Limit::kDeviceRead, Limit::kDeviceHalf})
      if (has_limit_share(repetition, limit)) offer(limit);
    return nearest;
  }
  if (repetition.bytes_per_s.has_value()) offer(memory_limit(*repetition.bytes_per_s, machine));
  if (repetition.flop_per_s.has_value())
    offer(repetition.label == "f32" ? Limit::kF32 : Limit::kBf16);
  return nearest;
}

double device_limit(const Repetition& repetition, Limit limit) {
  const char* name = is_flop_limit(limit) ? "device FLOP/s" : "device B/s";
  return counter(device_rate_of(repetition, limit), name, repetition, limit) * 1e-9;
}

bool has_limit_share(const Repetition& repetition, Limit limit) {
  return rate_of(repetition, limit).has_value() &&
         (!is_device_limit(limit) || device_rate_of(repetition, limit).has_value());
}

double limit_share(const Repetition& repetition, Limit limit, double limit_value) {
  const char* name = is_flop_limit(limit) ? "FLOP/s" : "B/s";
  return counter(rate_of(repetition, limit), name, repetition, limit) * 1e-9 / limit_value;
}

}  // namespace reprise::checks
