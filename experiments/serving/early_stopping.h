// Decides whether there are enough requests to bound a percentile, by MLPerf LoadGen's rule.
//
// If each request exceeds a latency bound with probability 1 - p, at most t of n requests exceed it
// with probability P(t, n, p) = P(Binomial(n, 1 - p) <= t). If t requests exceed the bound and
// P(t, n, percentile - tolerance) is at most 1 - confidence, t is too small to be chance: the
// percentile meets the bound. [MLPerf Inference rules, appendix on early stopping]
//
// As in LoadGen, requests count as independent. Requests that wait in one queue are not
// independent, so the true confidence is lower.
#pragma once

#include <cstdint>
#include <string>

namespace reprise::experiments::serving {

// The rule's parameters.
struct EarlyStopping {
  double percentile = 0.99;  // 0 < percentile - tolerance < 1 (CHECK)
  double tolerance = 0;
  double confidence = 0.99;  // between 0 and 1 (CHECK)

  // The largest t for which a run still meets the percentile's bound if t of its `requests`
  // requests exceed the bound; -1: there are too few requests even for t = 0. (LoadGen discards the
  // t - 1 largest latencies and reports the largest one left as its estimate of the percentile.)
  [[nodiscard]] int64_t overlatency_allowed(int64_t requests) const;
  // The smallest number of requests for which overlatency_allowed() is `over`. With the default
  // parameters it is 459 for over = 0 and 662 for over = 1.
  [[nodiscard]] int64_t least_requests(int64_t over) const;
};

enum class SloOutcome : uint8_t { kNone, kMet, kMissed, kUndecided };
[[nodiscard]] std::string name_of(SloOutcome outcome);

// Decides whether the percentile meets the bound if `over` of n = `requests` requests exceed it.
//   kMet        over <= overlatency_allowed(n)
//   kMissed     P(Binomial(n, 1 - percentile) >= over) <= 1 - confidence: if the percentile met the
//               bound, so many would hardly exceed it by chance
//   kUndecided  otherwise
// 0 <= over <= requests (CHECK).
[[nodiscard]] SloOutcome decide(const EarlyStopping& rule, int64_t requests, int64_t over);

}  // namespace reprise::experiments::serving
