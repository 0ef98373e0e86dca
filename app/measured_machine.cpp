#include "app/measured_machine.h"

#include <optional>
#include <utility>

#include "core/device/machine_probe.h"
#include "core/kernels/attention/fetch_calibration.h"
#include "core/kernels/device/measure_device.h"

namespace reprise::app {

Machine measured_machine(Context context) {
  const std::optional<MachineDevice> device = kernels::measure_device(context.runtime);
  context = on_cpu(std::move(context));
  Machine machine = machine_of(context, machine_limits(context));
  machine.fetch = kernels::calibrate_fetch(context);
  machine.device = device;
  return machine;
}

}  // namespace reprise::app
