#include "core/kernels/linear/reference/linear.h"

#include <Eigen/Core>

namespace reprise::kernels::reference {
namespace {

template <typename T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::MatrixXd as_double(std::span<const float> values, int64_t rows, int64_t cols) {
  return Eigen::Map<const RowMajor<float>>(values.data(), rows, cols).cast<double>();
}

}  // namespace

std::vector<double> linear(std::span<const float> w, int64_t rows, int64_t cols,
                           std::span<const float> x, int64_t m, std::span<const float> bias) {
  std::vector<double> y(static_cast<size_t>(m * rows));
  Eigen::Map<RowMajor<double>> out(y.data(), m, rows);
  out.noalias() = as_double(x, m, cols) * as_double(w, rows, cols).transpose();
  if (!bias.empty()) out.rowwise() += as_double(bias, 1, rows).row(0);
  return y;
}

}  // namespace reprise::kernels::reference
