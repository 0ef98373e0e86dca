#include "core/kernels/device/measure_device.h"

#include "core/base/error.h"
#include "core/kernels/device/cuda/device_probe.h"

namespace reprise::kernels {

std::optional<MachineDevice> measure_device(const std::shared_ptr<DeviceRuntime>& runtime) {
  if (runtime == nullptr) return std::nullopt;
  const auto device = std::dynamic_pointer_cast<reprise::cuda::CudaDevice>(runtime);
  REPRISE_CHECK(device != nullptr, "a device of another kind: {}", name_of(runtime->device()));
  return cuda::machine_device(*device, cuda::probe_device(device));
}

}  // namespace reprise::kernels
