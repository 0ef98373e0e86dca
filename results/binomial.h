// Exact tails of the binomial distribution, for bounds that hold whatever the distribution of the
// samples.
#pragma once

#include <cstdint>

namespace reprise::results {

// P(X <= k) of X ~ Binomial(n, p): the sum of C(n, i) p^i (1 - p)^(n - i) over i <= k; 0 for k < 0,
// 1 for k >= n. The smaller tail is summed outward from its largest term, about sqrt(n) terms, with
// a relative error of 1e-9 at n = 10^6. n >= 0, 0 < p < 1 (CHECK).
[[nodiscard]] double binomial_cdf(int64_t k, int64_t n, double p);

}  // namespace reprise::results
