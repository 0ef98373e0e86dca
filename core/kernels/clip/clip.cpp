#include "core/kernels/clip/clip.h"

#include "core/base/error.h"
#include "core/kernels/clip/cpu/clip.h"
#include "core/kernels/device/device_kernels.h"
#include "core/kernels/shared/for_rows.h"

namespace reprise::kernels {

void ClipCall::run(const Context& context) const {
  REPRISE_CHECK(limit > 0.0f, "limit {}", limit);
  if (DeviceKernels* device = device_kernels(context, "clipping")) return device->clip(*this);
  for_rows(context, rows, cols * kFloat,
           [&](int64_t row) { cpu::clip(data + row * cols, cols, limit, context.isa); });
}

}  // namespace reprise::kernels
