// Weighted sums of selected rows: combines the outputs of the experts of a row.
#pragma once

#include <cstdint>
#include <span>

#include "core/device/context.h"

namespace reprise::kernels {

//   out_r += sum over s of weights[r, s] * in[places[r, s]], in the order of s
//   in       [any, cols] f32, row-major, must not overlap `out`
//   places   [rows, per_row]  rows of `in`, in any order; weights [rows, per_row]
//   out      [rows, cols] f32
// One thread sums each row of `out`, so the result does not depend on the number of threads.
struct CombineRowsCall {
  const float* in = nullptr;
  std::span<const int32_t> places;
  std::span<const float> weights;
  float* out = nullptr;
  int64_t rows = 0, per_row = 0, cols = 0;

  void run(const Context& context) const;
};

}  // namespace reprise::kernels
