// The activation function of one row. Threads share the rows of a call.
#pragma once

#include <cstdint>

#include "core/device/cpu.h"
#include "core/kernels/activation/activation.h"

namespace reprise::kernels::cpu {

void activation_row(const ActivationCall& call, int64_t row, Isa isa);

}  // namespace reprise::kernels::cpu
