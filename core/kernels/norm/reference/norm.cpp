#include "core/kernels/norm/reference/norm.h"

#include <cmath>

namespace reprise::kernels::reference {

std::vector<double> norm(const NormCall& call) {
  const auto cols = static_cast<double>(call.cols);
  std::vector<double> y;
  for (int64_t row = 0; row < call.rows; ++row) {
    const float* x = call.x + row * call.cols;
    double mean = 0.0;
    if (!call.is_rms)
      for (int64_t i = 0; i < call.cols; ++i) mean += static_cast<double>(x[i]) / cols;
    double variance = 0.0;
    for (int64_t i = 0; i < call.cols; ++i) {
      const double centred = static_cast<double>(x[i]) - mean;
      variance += centred * centred / cols;
    }
    const double scale = 1.0 / std::sqrt(variance + static_cast<double>(call.epsilon));
    for (int64_t i = 0; i < call.cols; ++i) {
      const double bias = call.bias != nullptr ? static_cast<double>(call.bias[i]) : 0.0;
      y.push_back((static_cast<double>(x[i]) - mean) * scale * static_cast<double>(call.weight[i]) +
                  bias);
    }
  }
  return y;
}

}  // namespace reprise::kernels::reference
