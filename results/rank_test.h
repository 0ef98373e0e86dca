// Compares two sets of timings by ranks, so that tails and outliers of any size hardly move the
// test or the estimate. All null distributions are exact; there is no normal approximation.
#pragma once

#include <span>

namespace reprise::results {

// A shift and its confidence interval, which is infinite if there are too few samples for the
// level.
struct Shift {
  double estimate = 0;
  double low = 0, high = 0;
};

// Shift of paired differences d_i. The estimate is the median of (d_i + d_j) / 2 over all i <= j.
// The interval has the shifts that the two-sided signed-rank test does not reject at level `alpha`.
// [Wilcoxon 1945; Hodges and Lehmann 1963] The level is exact if a fair coin decided the order
// within each pair. Memory grows with the square of the number of differences; at least one, all
// finite (CHECK).
Shift paired_shift(std::span<const double> differences, double alpha);
// Two-sided p-value of the hypothesis that the differences are symmetric about 0. Zeros are
// dropped, ties share their mean rank, and the null distribution is exact given the ties.
double signed_rank_p(std::span<const double> differences);

// Shift of `y` above `x` for independent samples. [Mann and Whitney 1947] The estimate is the
// median of all y_j - x_i; the interval goes from the k-th smallest to the k-th largest of them,
// with k the critical value of the two-sided rank-sum test at level `alpha`. Both samples have at
// least one value, all finite (CHECK).
Shift unpaired_shift(std::span<const double> x, std::span<const double> y, double alpha);
// Two-sided p-value of the hypothesis that x and y have the same distribution. A tie counts one
// half, rounded towards no difference.
double rank_sum_p(std::span<const double> x, std::span<const double> y);

}  // namespace reprise::results
