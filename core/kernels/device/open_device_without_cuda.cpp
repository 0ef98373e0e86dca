#include "core/base/error.h"
#include "core/kernels/device/open_device.h"

namespace reprise::kernels {

std::shared_ptr<DeviceRuntime> open_device(Device device, const OpenOptions&) {
  if (device == Device::kCuda)
    raise("--device cuda: this build has no CUDA backend. Use --device cpu, which is the default.");
  return nullptr;
}

}  // namespace reprise::kernels
