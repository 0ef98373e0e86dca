// Clips one row. Threads share the rows of a call.
#pragma once

#include <cstdint>

#include "core/device/cpu.h"

namespace reprise::kernels::cpu {

// data [count] = min(max(data, -limit), limit); NaN stays.
void clip(float* data, int64_t count, float limit, Isa isa);

}  // namespace reprise::kernels::cpu
