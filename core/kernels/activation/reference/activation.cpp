#include "core/kernels/activation/reference/activation.h"

#include <cmath>
#include <numbers>

namespace reprise::kernels::reference {

double activate(ActivationKind kind, double x) {
  switch (kind) {
    case ActivationKind::kSilu:
      return x / (1.0 + std::exp(-x));
    case ActivationKind::kGelu:  // by erfc, because 1 + erf cancels for negative x
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case ActivationKind::kGeluTanh: {
      const double u = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      return x / (1.0 + std::exp(-2.0 * u));  // (1 + tanh u) / 2 = 1 / (1 + exp(-2 u))
    }
  }
  return x;
}

std::vector<double> activation(const ActivationCall& call) {
  return visit_dtype(call.dtype, [&](auto tag) {
    const auto* x = static_cast<const decltype(tag)*>(call.x);
    const auto at = [&](int64_t i) { return static_cast<double>(static_cast<float>(x[i])); };
    const int64_t stride = call.is_gated ? 2 * call.cols : call.cols;
    std::vector<double> y;
    for (int64_t row = 0; row < call.rows; ++row)
      for (int64_t i = 0; i < call.cols; ++i) {
        const double up = call.is_gated ? at(row * stride + call.cols + i) : 1.0;
        y.push_back(activate(call.kind, at(row * stride + i)) * up);
      }
    return y;
  });
}

}  // namespace reprise::kernels::reference
