#include "core/kernels/device/device_kernels.h"

#include "core/base/error.h"

namespace reprise::kernels {

DeviceKernels* device_kernels(const Context& context, std::string_view operation) {
  if (context.device == Device::kCpu) return nullptr;
  if (context.runtime == nullptr)
    raise("{} on device {}: no such device was opened; use --device cpu, or a build with CUDA",
          operation, name_of(context.device));
  return &static_cast<DeviceKernels&>(context.runtime->operations());
}

std::unique_ptr<WorkTimer> make_work_timer(const Context& context) {
  DeviceKernels* device = device_kernels(context, "a timer");
  return device == nullptr ? nullptr : device->make_work_timer(context);
}

}  // namespace reprise::kernels
