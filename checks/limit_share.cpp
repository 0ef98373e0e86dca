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

bool is_flop_limit(Limit limit) { return limit == Limit::kF32 || limit == Limit::kBf16; }

}  // namespace

std::optional<Limit> nearest_limit(const Repetition& repetition, const MachineLimits& machine) {
  std::optional<Limit> nearest;
  double best = 0;
  const auto offer = [&](Limit limit) {
    const double share = limit_share(repetition, limit, value_of(machine, limit));
    if (share > best) {
      best = share;
      nearest = limit;
    }
  };
  if (repetition.bytes_per_s.has_value()) offer(memory_limit(*repetition.bytes_per_s, machine));
  if (repetition.flop_per_s.has_value())
    offer(repetition.label == "f32" ? Limit::kF32 : Limit::kBf16);
  return nearest;
}

double limit_share(const Repetition& repetition, Limit limit, double limit_value) {
  const std::optional<double>& rate =
      is_flop_limit(limit) ? repetition.flop_per_s : repetition.bytes_per_s;
  if (!rate.has_value())
    raise(
        "benchmark {} has no counter \"{}\", so its share of {} is unknown. Set the counter in the "
        "benchmark, or leave it out with --filter.",
        repetition.name, is_flop_limit(limit) ? "FLOP/s" : "B/s", name_of(limit));
  return *rate * 1e-9 / limit_value;
}

}  // namespace reprise::checks
