#include "core/base/error.h"
#include "core/kernels/device/measure_device.h"

namespace reprise::kernels {

std::optional<MachineDevice> measure_device(const std::shared_ptr<DeviceRuntime>& runtime) {
  REPRISE_CHECK(runtime == nullptr, "a device in a build without one: {}",
                name_of(runtime->device()));
  return std::nullopt;
}

}  // namespace reprise::kernels
