// Picks rows of a matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/device/context.h"

namespace reprise::kernels {

// out[i] = in[rows[i]], rows of row_bytes each. `in` and `out` may be the same memory if `rows`
// ascend (then rows[i] >= i: nothing is overwritten before it is read), and must not overlap else.
struct GatherRowsCall {
  const void* in = nullptr;
  void* out = nullptr;
  int64_t row_bytes = 0;
  std::span<const int32_t> rows;

  void run(const Context& context) const;
};

}  // namespace reprise::kernels
