#include "core/device/device.h"

#include "core/base/error.h"

namespace reprise {

std::string_view name_of(Device device) { return device == Device::kCpu ? "cpu" : "cuda"; }

void require_device(Device device, std::string_view what) {
  if (device == Device::kCpu) return;
  raise("{} on device {}: it runs on the CPU alone; use --device cpu", what, name_of(device));
}

}  // namespace reprise
