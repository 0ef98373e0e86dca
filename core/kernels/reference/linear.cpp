#include "core/kernels/reference/linear.h"

namespace reprise::kernels::reference {

std::vector<double> linear(std::span<const float> w, int64_t rows, int64_t cols,
                           std::span<const float> x, int64_t m, std::span<const float> bias) {
  std::vector<double> y;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t row = 0; row < rows; ++row) {
      double sum = bias.empty() ? 0.0 : static_cast<double>(bias[static_cast<size_t>(row)]);
      for (int64_t k = 0; k < cols; ++k)
        sum += static_cast<double>(x[static_cast<size_t>(i * cols + k)]) *
               static_cast<double>(w[static_cast<size_t>(row * cols + k)]);
      y.push_back(sum);
    }
  return y;
}

}  // namespace reprise::kernels::reference
