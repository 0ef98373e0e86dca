// The kinds of device: a device has memory and runs kernels.
#pragma once

#include <cstdint>
#include <string_view>

namespace reprise {

enum class Device : uint8_t { kCpu, kCuda };

// Describes a device to other libraries that compute in its memory, such as libtorch.
struct DeviceHandle {
  Device memory = Device::kCpu;  // the memory type that the library sees
  int ordinal = 0;
  void* stream = nullptr;  // the cudaStream_t on which the library works; null for the CPU
};

std::string_view name_of(Device device);  // "cpu", "cuda"
// Throws Error naming `what` (such as "a linear layer") unless `device` is the CPU. For operations
// that run only on the CPU.
void require_device(Device device, std::string_view what);

}  // namespace reprise
