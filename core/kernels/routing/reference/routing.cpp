#include "core/kernels/routing/reference/routing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace reprise::kernels::reference {

Routing routing(const RoutingCall& call) {
  Routing out;
  for (int64_t row = 0; row < call.rows; ++row) {
    const float* logits = call.logits + row * call.experts;
    std::vector<double> p(logits, logits + call.experts);
    const double highest = *std::max_element(p.begin(), p.end());
    double sum = 0.0;
    for (double& value : p) sum += value = std::exp(value - highest);
    for (double& value : p) value /= sum;
    std::vector<int32_t> order(p.size());
    std::iota(order.begin(), order.end(), 0);
    const bool is_defined = !std::isnan(std::accumulate(p.begin(), p.end(), 0.0));
    if (is_defined)
      std::stable_sort(order.begin(), order.end(),
                       [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
    order.resize(static_cast<size_t>(call.per_row));
    double total = 0.0;
    for (const int32_t e : order) total += p[static_cast<size_t>(e)];
    for (const int32_t e : order) {
      out.chosen.push_back(e);
      out.weights.push_back(is_defined ? p[static_cast<size_t>(e)] / (call.normalized ? total : 1.0)
                                       : std::numeric_limits<double>::quiet_NaN());
    }
  }
  return out;
}

}  // namespace reprise::kernels::reference
