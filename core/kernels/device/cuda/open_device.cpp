#include "core/kernels/device/open_device.h"

#include "core/base/error.h"
#include "core/kernels/device/cuda/backend.h"

namespace reprise::kernels {

std::shared_ptr<DeviceRuntime> open_device(Device device, const OpenOptions& options) {
  if (device == Device::kCpu) return nullptr;
  try {
    return cuda::open_cuda({.ordinal = options.ordinal, .budget_bytes = options.budget_bytes});
  } catch (const Error& error) {
    raise("--device cuda: {}", error.what());
  }
}

}  // namespace reprise::kernels
