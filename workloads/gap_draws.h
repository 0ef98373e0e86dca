// Random gaps between requests. Each request draws its gap from random numbers of its own.
#pragma once

#include <cstdint>

#include "core/base/random.h"

namespace reprise::workloads {

// The random numbers of one request, uniform in (0, 1). 0 never occurs, so logarithms are finite.
class GapDraws {
 public:
  GapDraws(uint64_t seed, int64_t item) : seed_(seed), item_(static_cast<uint64_t>(item)) {}
  double next() { return random_unit(seed_, item_, count_++) + 0x1p-54; }

 private:
  uint64_t seed_, item_;
  uint64_t count_ = 0;
};

// All gaps below have mean 1.
double exponential_gap(GapDraws& draws);
// The coefficient of variation is 1 / sqrt(shape); shape > 0.
double gamma_gap(double shape, GapDraws& draws);
// P(gap > x) = exp(-(x / scale)^shape), scale = 1 / Gamma(1 + 1 / shape); shape >= kLeastShape.
double weibull_gap(double shape, GapDraws& draws);
inline constexpr double kLeastShape = 0.01;  // for a smaller shape, Gamma(1 + 1 / shape) overflows

}  // namespace reprise::workloads
