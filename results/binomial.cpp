#include "results/binomial.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace reprise::results {
namespace {

// P(X <= k) for 0 <= k < n p. The terms shrink downward from that of k.
double lower_tail(int64_t k, int64_t n, double p) {
  constexpr double kNegligible = 1e-17;  // relative to the sum
  const auto total = static_cast<double>(n);
  auto i = static_cast<double>(k);
  double term = std::exp(std::lgamma(total + 1) - std::lgamma(i + 1) - std::lgamma(total - i + 1) +
                         i * std::log(p) + (total - i) * std::log1p(-p));
  double sum = 0;
  for (; i >= 0 && term > sum * kNegligible; --i) {
    sum += term;
    term *= i * (1 - p) / ((total - i + 1) * p);
  }
  return sum;
}

}  // namespace

double binomial_cdf(int64_t k, int64_t n, double p) {
  REPRISE_CHECK(n >= 0 && p > 0 && p < 1, "n {}, p {}", n, p);
  if (k < 0) return 0;
  if (k >= n) return 1;
  const bool is_lower = static_cast<double>(k) < static_cast<double>(n) * p;
  const double cdf = is_lower ? lower_tail(k, n, p) : 1 - lower_tail(n - k - 1, n, 1 - p);
  return std::clamp(cdf, 0.0, 1.0);
}

}  // namespace reprise::results
