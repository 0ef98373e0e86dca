#include "app/measured_machine.h"

#include <optional>
#include <utility>

#include "app/kept_calibration.h"
#include "core/device/machine_probe.h"
#include "core/device/memory.h"
#include "core/kernels/device/measure_device.h"

namespace reprise::app {

Machine measured_machine(Context context, const CommonOptions& options) {
  const std::optional<MachineDevice> device = kernels::measure_device(context.runtime);
  context = on_cpu(std::move(context));
  Machine machine = machine_of(context, machine_limits(context));
  machine.fetch = kept_calibration(context, options);
  machine.device = device;
  return machine;
}

int64_t available_bytes_for(const Context& context) {
  return context.runtime != nullptr ? context.runtime->available_bytes() : available_bytes();
}

}  // namespace reprise::app
