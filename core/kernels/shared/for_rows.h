// Divides rows into groups, each of which is large enough to repay starting a thread for it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/device/context.h"

namespace reprise::kernels {

inline constexpr int64_t kFloat = sizeof(float);  // bytes of an element

// Calls fn(row) for each row, on the context's threads. Threads take groups of rows. A group has
// about 64 KiB, or one larger row: a core needs about as long for 64 KiB as for starting the other
// threads.
template <typename Fn>
void for_rows(const Context& context, int64_t rows, int64_t row_bytes, Fn&& fn) {
  constexpr int64_t kGroupBytes = 64 << 10;
  const int64_t group = std::max<int64_t>(1, kGroupBytes / std::max<int64_t>(1, row_bytes));
  const int64_t groups = (rows + group - 1) / group;
  parallel_for(context, groups, [&](int64_t index, int) {
    for (int64_t row = index * group; row < std::min(rows, (index + 1) * group); ++row) fn(row);
  });
}

}  // namespace reprise::kernels
