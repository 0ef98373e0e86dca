#include "core/kernels/rows/combine_rows.h"

#include "core/base/error.h"
#include "core/kernels/device/device_kernels.h"
#include "core/kernels/shared/cpu/weighted_sum.h"
#include "core/kernels/shared/for_rows.h"

namespace reprise::kernels {

void CombineRowsCall::run(const Context& context) const {
  const auto pairs = static_cast<size_t>(rows * per_row);
  REPRISE_CHECK(places.size() == pairs && weights.size() == pairs, "{} places, {} weights of {}",
                places.size(), weights.size(), pairs);
  if (DeviceKernels* device = device_kernels(context, "adding rows"))
    return device->combine_rows(*this);
  for_rows(context, rows, (per_row + 1) * cols * kFloat, [&](int64_t row) {
    for (int64_t s = 0; s < per_row; ++s) {
      const auto at = static_cast<size_t>(row * per_row + s);
      cpu::add_weighted({.weights = &weights[at],
                         .values = in + places[at] * cols,
                         .tokens = 1,
                         .head_dim = cols,
                         .sum = out + row * cols},
                        context.isa);
    }
  });
}

}  // namespace reprise::kernels
