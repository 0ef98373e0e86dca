// The norm of one row. Threads share the rows of a call.
#pragma once

#include <cstdint>

#include "core/device/cpu.h"
#include "core/kernels/norm/norm.h"

namespace reprise::kernels::cpu {

void norm_row(const NormCall& call, int64_t row, Isa isa);

}  // namespace reprise::kernels::cpu
