// The binomial and the normal distribution, for bounds and confidence intervals.
#pragma once

#include <cstdint>

namespace reprise::results {

// P(X <= k) of X ~ Binomial(n, p): the sum of C(n, i) p^i (1 - p)^(n - i) over i <= k, with a
// relative accuracy of 1e-9 for k below the mean and n = 10^6. Returns 0 for k < 0 and 1 for k >=
// n. n >= 0, 0 < p < 1 (CHECK).
[[nodiscard]] double binomial_cdf(int64_t k, int64_t n, double p);

// The probability that a standard normal variable lies below z.
[[nodiscard]] double normal_cdf(double z);
// The z below which a standard normal variable lies with probability `share`, 0 < share < 1
// (CHECK).
[[nodiscard]] double normal_quantile(double share);

}  // namespace reprise::results
