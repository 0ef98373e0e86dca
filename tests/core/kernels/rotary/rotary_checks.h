// Compares rotary embeddings with their definition in every instruction set.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "core/kernels/rotary/reference/rotary.h"
#include "core/kernels/rotary/rotary.h"
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

// cos and sin are computed in double and rounded once; a product, a product and a sum follow: four
// roundings of at most |a| + |b|. What is not rotated must be untouched.
inline void check_rotary(const RotatedHeads& h, const std::vector<int32_t>& positions,
                         const std::string& what) {
  const auto rows = static_cast<int64_t>(positions.size());
  const std::vector<float> inverse = frequencies(h.half);
  const std::vector<float> data = reprise::testing::random_values(rows * h.row_stride, 7);
  for (Isa isa : reprise::testing::available_isas()) {
    const Context context{.threads = 2, .isa = isa};
    std::vector<float> cos(static_cast<size_t>(rows * h.half)), sin(cos.size()), got = data;
    rotary_angles(positions, inverse, 1.0f, cos.data(), sin.data(), context);
    const RotaryCall call{.data = got.data(),
                          .rows = rows,
                          .row_stride = h.row_stride,
                          .heads = h.heads,
                          .head_dim = h.head_dim,
                          .half = h.half,
                          .cos = cos.data(),
                          .sin = sin.data()};
    const std::vector<double> want = reference::rotary(call, positions, inverse);
    std::vector<double> bound(want.size(), 0.0);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t head = 0; head < h.heads; ++head)
        for (int64_t c = 0; c < h.half; ++c) {
          const auto a = static_cast<size_t>(row * h.row_stride + head * h.head_dim + c);
          const size_t b = a + static_cast<size_t>(h.half);
          bound[a] = bound[b] =
              4 * reprise::testing::kUnitF32 *
              (std::abs(static_cast<double>(data[a])) + std::abs(static_cast<double>(data[b])));
        }
    call.run(context);
    reprise::testing::expect_within(got, want, bound, what + " isa " + std::string(name_of(isa)));
  }
}

}  // namespace reprise::kernels::testing
