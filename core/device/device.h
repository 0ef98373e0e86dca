// The devices on which memory lies and kernels run.
#pragma once

#include <cstdint>
#include <string_view>

namespace reprise {

enum class Device : uint8_t { kCpu, kCuda };

// A device as other libraries see it that compute in its memory.
struct DeviceHandle {
  Device memory = Device::kCpu;  // the kind of memory they are told
  int ordinal = 0;
  void* stream = nullptr;  // the cudaStream_t on which they work; null for the CPU
};

std::string_view name_of(Device device);  // "cpu", "cuda"
// Throws Error naming `what` (such as "a linear layer") unless `device` is the CPU: for operations
// that run on the CPU alone.
void require_device(Device device, std::string_view what);

}  // namespace reprise
