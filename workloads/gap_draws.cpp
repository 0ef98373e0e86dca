#include "workloads/gap_draws.h"

#include <cmath>
#include <numbers>

namespace reprise::workloads {
namespace {

// A standard normal variable by Box and Muller's transform.
double normal(GapDraws& draws) {
  const double radius = std::sqrt(2 * exponential_gap(draws));
  return radius * std::cos(2 * std::numbers::pi * draws.next());
}

// A gamma variable with mean `shape` and variance `shape`. Drawn as in [Marsaglia and Tsang 2000].
// For a shape below 1, it is a gamma variable with shape + 1 times a power of a uniform number.
double gamma(double shape, GapDraws& draws) {
  if (shape < 1) {
    const double boost = std::pow(draws.next(), 1 / shape);
    return gamma(shape + 1, draws) * boost;
  }
  const double d = shape - 1.0 / 3;
  for (;;) {
    const double x = normal(draws);
    const double root = 1 + x / std::sqrt(9 * d);
    const double u = draws.next();
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(u) < x * x / 2 + d * (1 - v + std::log(v))) return d * v;
  }
}

}  // namespace

double exponential_gap(GapDraws& draws) { return -std::log(draws.next()); }

double gamma_gap(double shape, GapDraws& draws) { return gamma(shape, draws) / shape; }

double weibull_gap(double shape, GapDraws& draws) {
  return std::pow(exponential_gap(draws), 1 / shape) / std::tgamma(1 + 1 / shape);
}

}  // namespace reprise::workloads
