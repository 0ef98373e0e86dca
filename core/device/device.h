// Where memory lies and kernels run.
#pragma once

#include <cstdint>
#include <string_view>

namespace reprise {

enum class Device : uint8_t { kCpu, kCuda };

// A device as libraries know it that compute in the same memory.
struct DeviceHandle {
  Device memory = Device::kCpu;  // whose memory they take it for
  int ordinal = 0;
  void* stream = nullptr;  // CUDA: the cudaStream_t in whose order they work
};

std::string_view name_of(Device device);  // "cpu", "cuda"
// Throws Error naming `what` ("a linear layer") unless `device` is the CPU: there is no other place
// for it.
void require_device(Device device, std::string_view what);

}  // namespace reprise
