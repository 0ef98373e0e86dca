#include "experiments/serving/latency.h"

#include <cmath>

#include "core/base/error.h"

namespace reprise::experiments::serving {

Latency latency_of(const RequestEntry& entry) {
  REPRISE_CHECK(entry.outcome == Outcome::kServed && !entry.token_s.empty(), "request {}",
                entry.index);
  const auto tokens = static_cast<double>(entry.generated());
  const double first_s = entry.token_s.front(), last_s = entry.token_s.back();
  const double e2e_s = last_s - entry.intended_s;
  return {.ttft_s = first_s - entry.intended_s,
          .e2e_s = e2e_s,
          .tpot_s = tokens > 1 ? (last_s - first_s) / (tokens - 1) : 0.0,
          .normalised_s = e2e_s / tokens};
}

bool Slo::is_set() const {
  return std::isfinite(ttft_s) || std::isfinite(tpot_s) || std::isfinite(e2e_s) ||
         std::isfinite(normalised_s);
}

bool Slo::is_kept_by(const RequestEntry& entry) const {
  if (entry.outcome != Outcome::kServed) return false;
  const Latency latency = latency_of(entry);
  return latency.ttft_s <= ttft_s && latency.tpot_s <= tpot_s && latency.e2e_s <= e2e_s &&
         latency.normalised_s <= normalised_s;
}

}  // namespace reprise::experiments::serving
