// Selects rows of a matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/device/context.h"

namespace reprise::kernels {

// out[i] = in[rows[i]], rows of row_bytes bytes. `in` and `out` may be the same memory if `rows`
// ascends (then rows[i] >= i, so nothing is overwritten before it is read); otherwise they must not
// overlap.
struct GatherRowsCall {
  const void* in = nullptr;
  void* out = nullptr;
  int64_t row_bytes = 0;
  std::span<const int32_t> rows;

  void run(const Context& context) const;
};

}  // namespace reprise::kernels
