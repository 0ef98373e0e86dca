// Rotary position embedding by its definition, in double precision: the oracle of the rotary
// kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/kernels/rotary/rotary.h"

namespace reprise::kernels::reference {

// Returns `call.data` [rows, row_stride] rotated by the angles position * inverse_frequency[c].
// Each angle is rounded to f32, as in the models' training. call.cos and call.sin are not read, and
// call.data is not changed.
//   positions [rows], inverse_frequency [half]
std::vector<double> rotary(const RotaryCall& call, std::span<const int32_t> positions,
                           std::span<const float> inverse_frequency);

}  // namespace reprise::kernels::reference
