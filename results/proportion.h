// Shares of right answers: how sure one is, and whether two that come from the same questions
// differ.
#pragma once

#include <cstdint>

namespace reprise::results {

struct Interval {
  double low = 0, high = 0;
};

// Wilson's score interval of a probability of which `successes` of `trials` were seen: the p that
// the normal test with the variance p (1 - p) / n does not reject at level 1 - confidence,
//   (s + z^2 / 2 -+ z sqrt(s (n - s) / n + z^2 / 4)) / (n + z^2).
// Within [0, 1], and not a point where all or none succeeded. [Wilson 1927]
// 0 <= successes <= trials, trials > 0, 0 < confidence < 1 (CHECK).
[[nodiscard]] Interval wilson_interval(int64_t successes, int64_t trials, double confidence);

// Two-sided p-value of the hypothesis that two ways to answer the same questions are right equally
// often: of the questions that one of them alone answered right, each is as likely the first's as
// the second's. Exact, by the binomial distribution: twice the smaller tail, at most 1; 1 where
// there is no such question. [McNemar 1947] Neither is negative (CHECK).
[[nodiscard]] double mcnemar_p(int64_t first_alone, int64_t second_alone);

}  // namespace reprise::results
