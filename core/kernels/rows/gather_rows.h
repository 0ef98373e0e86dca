// Selects rows of a matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/device/context.h"

namespace reprise::kernels {

// out[i] = in[rows[i]]; a row has row_bytes bytes. `in` and `out` may be the same memory if `rows`
// ascends: then rows[i] >= i, so no row is overwritten before it is read. Otherwise `in` and `out`
// must not overlap.
struct GatherRowsCall {
  const void* in = nullptr;
  void* out = nullptr;
  int64_t row_bytes = 0;
  std::span<const int32_t> rows;

  void run(const Context& context) const;
};

}  // namespace reprise::kernels
