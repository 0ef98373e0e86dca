#include "results/proportion.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/base/error.h"
#include "results/distributions.h"

namespace reprise::results {

Interval wilson_interval(int64_t successes, int64_t trials, double confidence) {
  REPRISE_CHECK(trials > 0 && successes >= 0 && successes <= trials, "{} of {}", successes, trials);
  REPRISE_CHECK(confidence > 0 && confidence < 1, "confidence {}", confidence);
  const double z = normal_quantile(0.5 + confidence / 2);
  const auto n = static_cast<double>(trials), s = static_cast<double>(successes);
  const double middle = s + z * z / 2;
  const double half = z * std::sqrt(s * (n - s) / n + z * z / 4);
  // Rounding would move the ends of "none" and "all" away from 0 and 1.
  return {.low = successes == 0 ? 0.0 : (middle - half) / (n + z * z),
          .high = successes == trials ? 1.0 : (middle + half) / (n + z * z)};
}

double mcnemar_p(int64_t first_alone, int64_t second_alone) {
  REPRISE_CHECK(first_alone >= 0 && second_alone >= 0, "{} and {}", first_alone, second_alone);
  // If the counts differ by at most 1, the smaller tail is at least one half and p is exactly 1.
  if (std::abs(first_alone - second_alone) <= 1) return 1.0;
  const double tail =
      binomial_cdf(std::min(first_alone, second_alone), first_alone + second_alone, 0.5);
  return std::min(1.0, 2 * tail);
}

}  // namespace reprise::results
