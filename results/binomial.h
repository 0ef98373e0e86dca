// How likely so many successes are: exact tails of the binomial distribution, for bounds that hold
// whatever the distribution of what is counted.
#pragma once

#include <cstdint>

namespace reprise::results {

// P(X <= k) of X ~ Binomial(n, p): the sum of C(n, i) p^i (1 - p)^(n - i) over i <= k. The smaller
// tail is summed, outward from its largest term, so that it keeps its relative accuracy (1e-9 at
// n = 10^6); takes some sqrt(n) terms. 0 for k < 0, 1 for k >= n.
// n >= 0, 0 < p < 1 (CHECK).
[[nodiscard]] double binomial_cdf(int64_t k, int64_t n, double p);

}  // namespace reprise::results
