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
    if (repetition.bytes_per_s.has_value()) offer(Limit::kDeviceRead);
    if (repetition.flop_per_s.has_value()) offer(Limit::kDeviceHalf);
    return nearest;
  }
  if (repetition.bytes_per_s.has_value()) offer(memory_limit(*repetition.bytes_per_s, machine));
  if (repetition.flop_per_s.has_value())
    offer(repetition.label == "f32" ? Limit::kF32 : Limit::kBf16);
  return nearest;
}

double device_limit(const Repetition& repetition, Limit limit) {
  const double rate =
      is_flop_limit(limit)
          ? counter(repetition.device_flop_per_s, "device FLOP/s", repetition, limit)
          : counter(repetition.device_bytes_per_s, "device B/s", repetition, limit);
  return rate * 1e-9;
}

bool has_limit_share(const Repetition& repetition, Limit limit) {
  const bool has_rate =
      is_flop_limit(limit) ? repetition.flop_per_s.has_value() : repetition.bytes_per_s.has_value();
  const bool has_device_rate = is_flop_limit(limit) ? repetition.device_flop_per_s.has_value()
                                                    : repetition.device_bytes_per_s.has_value();
  return has_rate && (has_device_rate || !is_device_limit(limit));
}

double limit_share(const Repetition& repetition, Limit limit, double limit_value) {
  const double rate = is_flop_limit(limit)
                          ? counter(repetition.flop_per_s, "FLOP/s", repetition, limit)
                          : counter(repetition.bytes_per_s, "B/s", repetition, limit);
  return rate * 1e-9 / limit_value;
}

}  // namespace reprise::checks
