#include "core/kernels/device/measure_device.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/kernels/device/cuda/device_probe.h"

namespace reprise::kernels {

Json measure_device(const std::shared_ptr<DeviceRuntime>& runtime) {
  if (runtime == nullptr) return nullptr;
  const auto device = std::dynamic_pointer_cast<reprise::cuda::CudaDevice>(runtime);
  REPRISE_CHECK(device != nullptr, "a device of another kind: {}", name_of(runtime->device()));
  return cuda::device_json(*device, cuda::probe_device(device));
}

}  // namespace reprise::kernels
