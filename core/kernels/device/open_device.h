// Opens a device that computes, as far as this build has it.
#pragma once

#include <cstdint>
#include <memory>

#include "core/device/device_runtime.h"

namespace reprise::kernels {

struct OpenOptions {
  int ordinal = 0;           // of several devices of a kind
  int64_t budget_bytes = 0;  // the most of its memory that is taken; 0: all there is
};

// Null for the CPU, which needs no opening. Throws Error, with the remedy: a build without CUDA, no
// CUDA device, a driver that is too old, compute capability below 8.0.
std::shared_ptr<DeviceRuntime> open_device(Device device, const OpenOptions& options = {});

}  // namespace reprise::kernels
