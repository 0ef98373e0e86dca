#include "core/kernels/norm/norm.h"

#include "core/device/operation_log.h"
#include "core/kernels/device/device_kernels.h"
#include "core/kernels/norm/cpu/norm.h"
#include "core/kernels/shared/for_rows.h"

namespace reprise::kernels {

void NormCall::run(const Context& context) const {
  const OperationSpan span(context, "norm");
  if (DeviceKernels* device = device_kernels(context, "a norm")) return device->norm(*this);
  for_rows(context, rows, cols * kFloat,
           [&](int64_t row) { cpu::norm_row(*this, row, context.isa); });
}

}  // namespace reprise::kernels
