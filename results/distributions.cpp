// The only source that includes Boost.Math, whose headers take 1.5 s to compile.
#include "results/distributions.h"

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>

#include "core/base/error.h"

namespace reprise::results {
namespace {

namespace bm = boost::math;

using InDouble = bm::policies::policy<bm::policies::promote_double<false>>;
using Normal = bm::normal_distribution<double, InDouble>;
using Binomial = bm::binomial_distribution<double, InDouble>;

}  // namespace

double binomial_cdf(int64_t k, int64_t n, double p) {
  REPRISE_CHECK(n >= 0 && p > 0 && p < 1, "n {}, p {}", n, p);
  if (k < 0) return 0;
  if (k >= n) return 1;
  return bm::cdf(Binomial(static_cast<double>(n), p), static_cast<double>(k));
}

double normal_cdf(double z) { return bm::cdf(Normal(), z); }

double normal_quantile(double share) {
  REPRISE_CHECK(share > 0 && share < 1, "share {}", share);
  return bm::quantile(Normal(), share);
}

}  // namespace reprise::results
