// Frequencies of rotary embeddings, and the error bounds of rotated heads in f32.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/support/kernels.h"

namespace reprise::kernels::testing {

inline std::vector<float> frequencies(int64_t half, double theta = 10000.0) {
  std::vector<float> values;
  for (int64_t c = 0; c < half; ++c)
    values.push_back(
        static_cast<float>(std::pow(theta, -static_cast<double>(c) / static_cast<double>(half))));
  return values;
}

struct RotatedHeads {
  int64_t heads, head_dim, half, row_stride;
};

// The error bound of each element of `data` [rows, row_stride], the numbers before rotation. The
// cosines and sines are rounded once; a product, a product and a sum follow: four roundings of at
// most |a| + |b|. Elements that are not rotated must be untouched: their bound is 0.
inline std::vector<double> rotary_bounds(const RotatedHeads& h, int64_t rows,
                                         const std::vector<float>& data) {
  std::vector<double> bound(data.size(), 0.0);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t head = 0; head < h.heads; ++head)
      for (int64_t c = 0; c < h.half; ++c) {
        const auto a = static_cast<size_t>(row * h.row_stride + head * h.head_dim + c);
        const size_t b = a + static_cast<size_t>(h.half);
        bound[a] = bound[b] =
            4 * reprise::testing::kUnitF32 *
            (std::abs(static_cast<double>(data[a])) + std::abs(static_cast<double>(data[b])));
      }
  return bound;
}

}  // namespace reprise::kernels::testing
