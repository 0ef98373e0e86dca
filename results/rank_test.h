// How far two sets of timings lie apart, from ranks alone: tails and outliers of any size move
// neither the test nor the estimate far. All null distributions are exact, for any number of
// samples that a check takes; there is no normal approximation.
#pragma once

#include <span>

namespace reprise::results {

// A shift with its confidence interval; infinite where the samples are too few for the level.
struct Shift {
  double estimate = 0;
  double low = 0, high = 0;
};

// Paired samples, given as differences d_i. [Wilcoxon 1945; Hodges and Lehmann 1963]
//   estimate   median of the Walsh averages (d_i + d_j) / 2, i <= j
//   interval   the shifts that the two-sided signed-rank test does not reject at level `alpha`:
//              from the k-th smallest to the k-th largest Walsh average, k the exact critical value
// Where the order within each pair was decided by a fair coin, the signs of the differences between
// two equal things are fair coins too, whatever the noise and its drift: the level is then exact by
// design and assumes nothing of the noise. Quadratic in memory: some hundreds of differences. At
// least one (CHECK), all finite (CHECK).
Shift paired_shift(std::span<const double> differences, double alpha);
// Two-sided p-value of the hypothesis that differences are symmetric about 0; zeros are dropped,
// ties share their mean rank, and the null distribution is exact given the ties.
double signed_rank_p(std::span<const double> differences);

// Independent samples: how far `y` lies above `x`. [Mann and Whitney 1947]
//   estimate   median of all y_j - x_i
//   interval   from the k-th smallest to the k-th largest difference, k the exact critical value of
//              the two-sided rank-sum test at level `alpha`
// At least one of each (CHECK), all finite (CHECK).
Shift unpaired_shift(std::span<const double> x, std::span<const double> y, double alpha);
// Two-sided p-value of the hypothesis that x and y have one distribution; a tie counts one half,
// rounded towards no difference.
double rank_sum_p(std::span<const double> x, std::span<const double> y);

}  // namespace reprise::results
