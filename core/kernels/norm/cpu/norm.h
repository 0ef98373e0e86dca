// One row of a norm: the unit of work that is spread over threads.
#pragma once

#include <cstdint>

#include "core/device/cpu.h"
#include "core/kernels/norm/norm.h"

namespace reprise::kernels::cpu {

void norm_row(const NormCall& call, int64_t row, Isa isa);

}  // namespace reprise::kernels::cpu
