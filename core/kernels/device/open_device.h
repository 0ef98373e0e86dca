// Opens a device that computes, if this build supports it.
#pragma once

#include <cstdint>
#include <memory>

#include "core/device/device_runtime.h"

namespace reprise::kernels {

struct OpenOptions {
  int ordinal = 0;           // index among several devices of one kind
  int64_t budget_bytes = 0;  // most device memory to take; 0: no limit
};

// Null for the CPU, which needs no opening. Throws Error with the remedy for a build without CUDA,
// no CUDA device, a driver that is too old, or compute capability below 8.0.
std::shared_ptr<DeviceRuntime> open_device(Device device, const OpenOptions& options = {});

}  // namespace reprise::kernels
