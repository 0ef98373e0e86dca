// The measurements in records of the emulated device. They say that the device is emulated; its
// limits are 1, and times mean nothing.
#include "core/kernels/device/measure_device.h"

#include "core/kernels/device/open_device.h"

namespace reprise::kernels {

std::optional<MachineDevice> measure_device(const std::shared_ptr<DeviceRuntime>& runtime) {
  if (runtime == nullptr) return std::nullopt;
  MachineDevice device{.name = "emulated on the CPU", .compute_capability = "9.0"};
  device.sms = 1;
  device.memory_bytes = runtime->available_bytes();
  device.l2_bytes = int64_t{1} << 20;
  for (const char* name :
       {"copy_gb_s", "read_gb_s", "l2_read_gb_s", "half_tflop_s", "launch_us", "round_trip_us"})
    device.limits[name] = 1.0;
  return device;
}

// This function is linked in place of the one with the same name in a build without CUDA.
[[gnu::used]] static const auto kOpened = &open_device;

}  // namespace reprise::kernels
