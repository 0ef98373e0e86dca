// Other libraries see the emulated device's memory as host memory and know nothing of its streams.
#include "core/device/cuda/cuda_device.h"
#include "tests/cuda_on_cpu/arena.h"

namespace reprise::cuda {

DeviceHandle CudaDevice::handle() const { return {}; }

void CudaDevice::call_library(const std::function<void()>& work) {
  synchronize();
  const cuda_on_cpu::OpenMemory open;
  work();
}

}  // namespace reprise::cuda
