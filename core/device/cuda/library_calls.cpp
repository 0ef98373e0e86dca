// Calls other libraries on a device. The emulator of tests/cuda_on_cpu has its own version of this
// file.
#include "core/device/cuda/cuda_device.h"

namespace reprise::cuda {

DeviceHandle CudaDevice::handle() const {
  return {.memory = Device::kCuda, .ordinal = facts_.ordinal, .stream = stream_.get()};
}

void CudaDevice::call_library(const std::function<void()>& work) { work(); }

}  // namespace reprise::cuda
