#include "core/kernels/attention/rounding.h"

#include <algorithm>

namespace reprise::kernels {
namespace {

double squared(double x) { return x * x; }

}  // namespace

double mean_error(const ExactHead& head, const Rounding& rounding) {
  return std::sqrt((squared(rounding.weights) * head.weight_spread +
                    squared(rounding.queries) * head.query_spread +
                    squared(rounding.outputs * head.norm)) /
                   3.0);
}

double rounding_bound(const ExactHead& head, const Rounding& rounding, int64_t head_dim) {
  const double squares = std::min(head.weight_keys, static_cast<double>(head_dim));
  return rounding.sums * head.summed() + (1 + 5 / std::sqrt(squares)) * mean_error(head, rounding);
}

}  // namespace reprise::kernels
