#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/kernels/device/measure_device.h"

namespace reprise::kernels {

Json measure_device(const std::shared_ptr<DeviceRuntime>& runtime) {
  REPRISE_CHECK(runtime == nullptr, "a device in a build without one: {}",
                name_of(runtime->device()));
  return nullptr;
}

}  // namespace reprise::kernels
