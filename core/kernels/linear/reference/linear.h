// The linear layer by its definition, in double precision: the oracle of the linear kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise::kernels::reference {

// Returns y = x W^T + bias, [m, rows] row-major.
//   w [rows, cols]   x [m, cols]   bias [rows] or empty
// Values are used unrounded: round w and x to the kernel's dtype first.
std::vector<double> linear(std::span<const float> w, int64_t rows, int64_t cols,
                           std::span<const float> x, int64_t m, std::span<const float> bias);

}  // namespace reprise::kernels::reference
