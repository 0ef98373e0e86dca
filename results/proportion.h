// Shares of right answers: their confidence intervals, and a test whether two shares from the same
// questions differ.
#pragma once

#include <cstdint>

namespace reprise::results {

struct Interval {
  double low = 0, high = 0;

  bool operator==(const Interval&) const = default;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.required("low", self.low);
    visitor.required("high", self.high);
  }
};

// Wilson's score interval of a probability with `successes` of `trials` seen,
//   (s + z^2 / 2 -+ z sqrt(s (n - s) / n + z^2 / 4)) / (n + z^2)   [Wilson 1927]
// The interval lies within [0, 1] and is wider than a point even if all or none of the trials
// succeeded. 0 <= successes <= trials, trials > 0, 0 < confidence < 1 (CHECK).
[[nodiscard]] Interval wilson_interval(int64_t successes, int64_t trials, double confidence);

// Two-sided p-value of the hypothesis that two ways to answer the same questions are right equally
// often. Exact: twice the smaller binomial tail of the questions that only one of the two ways
// answered right, at most 1. Returns 1 if there are no such questions. [McNemar 1947] Neither count
// may be negative (CHECK).
[[nodiscard]] double mcnemar_p(int64_t first_alone, int64_t second_alone);

}  // namespace reprise::results
