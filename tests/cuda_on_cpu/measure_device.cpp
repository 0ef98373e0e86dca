// The measurements that records of the emulated device hold. They say that it is emulated; its
// limits are 1, and times mean nothing.
#include "core/kernels/device/measure_device.h"

#include <nlohmann/json.hpp>

#include "core/kernels/device/open_device.h"

namespace reprise::kernels {

Json measure_device(const std::shared_ptr<DeviceRuntime>& runtime) {
  if (runtime == nullptr) return nullptr;
  Json limits;
  for (const char* name :
       {"copy_gb_s", "read_gb_s", "l2_read_gb_s", "half_tflop_s", "launch_us", "round_trip_us"})
    limits[name] = 1.0;
  return {{"name", "emulated on the CPU"},
          {"compute_capability", "9.0"},
          {"sms", 1},
          {"memory_bytes", runtime->available_bytes()},
          {"l2_bytes", int64_t{1} << 20},
          {"limits", limits}};
}

// Linked before the function of the same name of a build without CUDA.
[[gnu::used]] static const auto kOpened = &open_device;

}  // namespace reprise::kernels
