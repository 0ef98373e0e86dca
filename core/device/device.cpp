#include "core/device/device.h"

#include "core/base/error.h"

namespace reprise {

std::string_view name_of(Device device) { return device == Device::kCpu ? "cpu" : "cuda"; }

void require_device(Device device, std::string_view what) {
  if (device == Device::kCpu) return;
  raise("{} on device {}: this build has no CUDA; use --device cpu, or build with the CUDA toolkit",
        what, name_of(device));
}

}  // namespace reprise
