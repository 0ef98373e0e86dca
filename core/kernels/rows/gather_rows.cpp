#include "core/kernels/rows/gather_rows.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/kernels/device/device_kernels.h"
#include "core/kernels/shared/for_rows.h"

namespace reprise::kernels {
namespace {

// Gathers rows in place. Rows must move one after the other, but columns are independent, so
// threads take slices of columns. A slice has kSliceBytes of each row, two pages.
void move_up(const GatherRowsCall& call, const Context& context) {
  constexpr int64_t kSliceBytes = 8 << 10;
  auto* data = static_cast<char*>(call.out);
  const int64_t slices = (call.row_bytes + kSliceBytes - 1) / kSliceBytes;
  parallel_for(context, slices, [&](int64_t slice, int) {
    const int64_t first = slice * kSliceBytes;
    const auto bytes = static_cast<size_t>(std::min(kSliceBytes, call.row_bytes - first));
    for (size_t i = 0; i < call.rows.size(); ++i)
      if (const auto row = static_cast<size_t>(call.rows[i]); row != i)
        std::memcpy(data + static_cast<int64_t>(i) * call.row_bytes + first,
                    data + static_cast<int64_t>(row) * call.row_bytes + first, bytes);
  });
}

}  // namespace

void GatherRowsCall::run(const Context& context) const {
  DeviceKernels* device = device_kernels(context, "picking rows");
  if (in == out) {
    for (size_t i = 0; i < rows.size(); ++i)
      REPRISE_CHECK(rows[i] >= 0 && (i == 0 || rows[i] > rows[i - 1]),
                    "rows that move in place must ascend: {} at {}", rows[i], i);
    if (rows.empty() || static_cast<size_t>(rows.back()) + 1 == rows.size()) return;  // as it is
    if (device != nullptr) return device->gather_rows(*this);
    return move_up(*this, context);
  }
  if (device != nullptr) return device->gather_rows(*this);
  for_rows(context, static_cast<int64_t>(rows.size()), row_bytes, [&](int64_t i) {
    std::memcpy(static_cast<char*>(out) + i * row_bytes,
                static_cast<const char*>(in) + rows[static_cast<size_t>(i)] * row_bytes,
                static_cast<size_t>(row_bytes));
  });
}

}  // namespace reprise::kernels
