#include "core/kernels/rotary/reference/rotary.h"

#include <cmath>

namespace reprise::kernels::reference {

std::vector<double> rotary(const RotaryCall& call, std::span<const int32_t> positions,
                           std::span<const float> inverse_frequency) {
  std::vector<double> y(call.data, call.data + call.rows * call.row_stride);
  for (int64_t row = 0; row < call.rows; ++row)
    for (int64_t head = 0; head < call.heads; ++head)
      for (int64_t c = 0; c < call.half; ++c) {
        const double angle = static_cast<float>(positions[static_cast<size_t>(row)]) *
                             inverse_frequency[static_cast<size_t>(c)];
        double& a = y[static_cast<size_t>(row * call.row_stride + head * call.head_dim + c)];
        double& b =
            y[static_cast<size_t>(row * call.row_stride + head * call.head_dim + call.half + c)];
        const double x = a;
        a = x * std::cos(angle) - b * std::sin(angle);
        b = b * std::cos(angle) + x * std::sin(angle);
      }
  return y;
}

}  // namespace reprise::kernels::reference
