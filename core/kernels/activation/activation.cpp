#include "core/kernels/activation/activation.h"

#include "core/device/operation_log.h"
#include "core/kernels/activation/cpu/activation.h"
#include "core/kernels/device/device_kernels.h"
#include "core/kernels/shared/for_rows.h"

namespace reprise::kernels {

void ActivationCall::run(const Context& context) const {
  const OperationSpan span(context, "activation");
  if (DeviceKernels* device = device_kernels(context, "an activation"))
    return device->activation(*this);
  for_rows(context, rows, cols * kFloat,
           [&](int64_t row) { cpu::activation_row(*this, row, context.isa); });
}

}  // namespace reprise::kernels
