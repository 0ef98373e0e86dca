// Decides whether there are enough requests to bound a percentile, by MLPerf LoadGen's rule.
//
// If each request exceeds a latency bound with probability 1 - p, at most t of n exceed it with
// probability P(t, n, p) = P(Binomial(n, 1 - p) <= t). If P(t, n, percentile - tolerance) is at
// most 1 - confidence, so few cannot be chance, and the percentile meets the bound. [MLPerf
// Inference rules, appendix on early stopping]
//
// As in LoadGen, requests count as independent. Requests of a queue are not, so the true confidence
// is lower.
#pragma once

#include <cstdint>
#include <string>

namespace reprise::experiments::serving {

// The rule's parameters.
struct EarlyStopping {
  double percentile = 0.99;  // 0 < percentile - tolerance < 1 (CHECK)
  double tolerance = 0;
  double confidence = 0.99;  // between 0 and 1 (CHECK)

  // The largest number t of n requests that may exceed the bound. -1: n is too small even for t =
  // 0. LoadGen discards t - 1 latencies and reports the largest remaining one as its estimate.
  [[nodiscard]] int64_t overlatency_allowed(int64_t requests) const;
  // The smallest n for which t is `over`. With the defaults: 459 for over = 0, 662 for over = 1.
  [[nodiscard]] int64_t least_requests(int64_t over) const;
};

enum class SloOutcome : uint8_t { kNone, kMet, kMissed, kUndecided };
[[nodiscard]] std::string name_of(SloOutcome outcome);

// kMet: few enough of `requests` exceed the bound (over <= overlatency_allowed()). kMissed: so many
// exceed it that this would be as unlikely if the bound were met: P(Binomial(n, 1 - percentile) >=
// over) <= 1 - confidence. Otherwise kUndecided. 0 <= over <= requests (CHECK).
[[nodiscard]] SloOutcome decide(const EarlyStopping& rule, int64_t requests, int64_t over);

}  // namespace reprise::experiments::serving
