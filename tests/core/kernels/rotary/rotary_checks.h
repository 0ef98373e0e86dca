// Compares rotary embeddings with their definition in every instruction set.
#pragma once

#include <string>
#include <vector>

#include "core/kernels/rotary/reference/rotary.h"
#include "core/kernels/rotary/rotary.h"
#include "tests/core/kernels/rotary/rotary_bounds.h"
#include "tests/support/kernels.h"

namespace reprise::kernels::testing {

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
    call.run(context);
    reprise::testing::expect_within(got, want, rotary_bounds(h, rows, data),
                                    what + " isa " + std::string(name_of(isa)));
  }
}

}  // namespace reprise::kernels::testing
