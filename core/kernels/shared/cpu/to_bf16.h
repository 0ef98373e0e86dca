// Rounds numbers to bf16.
#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "core/device/cpu.h"

namespace reprise::kernels::cpu {

// out [count] = in [count], rounded to nearest even.
void to_bf16(const float* in, bf16* out, int64_t count, Isa isa);

}  // namespace reprise::kernels::cpu
