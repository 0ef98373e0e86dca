// The latencies of one request, as every metric, bound and check defines them.
#pragma once

#include <limits>

#include "experiments/serving/request_log.h"

namespace reprise::experiments::serving {

// Times in seconds of a served request (CHECK). They count from the intended arrival t_0, so that a
// server that falls behind cannot hide its queue; t_1 ... t_n are the times of its n tokens.
//   ttft        t_1 - t_0
//   e2e         t_n - t_0
//   tpot        (t_n - t_1) / (n - 1); 0 if n = 1
//   normalised  e2e / n   [vLLM §6.1; RelayAttention §4.3; ChunkAttention §4.2]
struct Latency {
  double ttft_s = 0, e2e_s = 0, tpot_s = 0, normalised_s = 0;
};
[[nodiscard]] Latency latency_of(const RequestEntry& entry);

// A service level: latency bounds, and the share of requests that must keep all of them.
struct Slo {
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  double ttft_s = kNone, tpot_s = kNone, e2e_s = kNone, normalised_s = kNone;
  double share = 0.99;

  [[nodiscard]] bool is_set() const;
  // True if the request was served within all bounds.
  [[nodiscard]] bool is_kept_by(const RequestEntry& entry) const;
};

}  // namespace reprise::experiments::serving
