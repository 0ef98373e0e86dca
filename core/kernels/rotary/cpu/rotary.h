// One row of rotary embedding: the unit of work that is spread over threads.
#pragma once

#include <cstdint>

#include "core/device/cpu.h"
#include "core/kernels/rotary/rotary.h"

namespace reprise::kernels::cpu {

void rotary_row(const RotaryCall& call, int64_t row, Isa isa);

}  // namespace reprise::kernels::cpu
