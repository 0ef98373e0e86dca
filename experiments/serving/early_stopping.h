// After how many requests a percentile can be told from its bound: MLPerf LoadGen's rule.
#pragma once

#include <cstdint>
#include <string>

namespace reprise::experiments::serving {

// Of requests that each exceed a latency bound with probability 1 - p, so that p is the true share
// within it, t of n exceed it or fewer with probability P(t, n, p) = P(Binomial(n, 1 - p) <= t).
// With P(t, n, percentile - tolerance) <= 1 - confidence, t of n is too few to be chance, and the
// percentile meets the bound.   [MLPerf Inference rules, appendix on early stopping]
// Requests count as independent, as LoadGen counts them; those of a queue follow one another, so
// that the true confidence is lower.
struct EarlyStopping {
  double percentile = 0.99;  // 0 < percentile - tolerance < 1 (CHECK)
  double tolerance = 0;
  double confidence = 0.99;  // between 0 and 1 (CHECK)

  // The largest such t, so many of n requests may exceed the bound; -1: n is too small even for
  // none. LoadGen discards one less, and reports the largest latency that is left as its estimate.
  [[nodiscard]] int64_t overlatency_allowed(int64_t requests) const;
  // The smallest such n with t = `over`: 459 at the 99th percentile for none, 662 for one.
  [[nodiscard]] int64_t least_requests(int64_t over) const;
};

enum class SloOutcome : uint8_t { kNone, kMet, kMissed, kUndecided };
[[nodiscard]] std::string name_of(SloOutcome outcome);

// kMet: `over` are so few of `requests`, as above. kMissed: so many that, were the percentile's
// bound met, more would be chance: P(Binomial(n, 1 - percentile) >= over) <= 1 - confidence.
// kUndecided: neither. 0 <= over <= requests (CHECK).
[[nodiscard]] SloOutcome decide(const EarlyStopping& rule, int64_t requests, int64_t over);

}  // namespace reprise::experiments::serving
