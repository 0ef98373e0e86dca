// Opens a device for computing, if this program was built with support for it.
#pragma once

#include <cstdint>
#include <memory>

#include "core/device/device_runtime.h"

namespace reprise::kernels {

struct OpenOptions {
  int ordinal = 0;           // index among several devices of one kind
  int64_t budget_bytes = 0;  // most device memory to take; 0: no limit
};

// Returns null for the CPU, which needs no runtime. Throws Error with the remedy if the program was
// built without CUDA, if there is no CUDA device, if the driver is too old, or if the device's
// compute capability is below 8.0.
std::shared_ptr<DeviceRuntime> open_device(Device device, const OpenOptions& options = {});

}  // namespace reprise::kernels
