// Rotary embedding of one row. Threads share the rows of a call.
#pragma once

#include <cstdint>

#include "core/device/cpu.h"
#include "core/kernels/rotary/rotary.h"

namespace reprise::kernels::cpu {

void rotary_row(const RotaryCall& call, int64_t row, Isa isa);

}  // namespace reprise::kernels::cpu
