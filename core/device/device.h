// Where memory lies and kernels run.
#pragma once

#include <cstdint>
#include <string_view>

namespace reprise {

enum class Device : uint8_t { kCpu, kCuda };

std::string_view name_of(Device device);  // "cpu", "cuda"
// Throws Error naming `what` ("a linear layer") unless `device` is the CPU: there is no other place
// for it.
void require_device(Device device, std::string_view what);

}  // namespace reprise
