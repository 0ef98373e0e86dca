// Where memory lies and kernels run.
#pragma once

#include <cstdint>

namespace reprise {

enum class Device : uint8_t { kCpu, kCuda };

}  // namespace reprise
