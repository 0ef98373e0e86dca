// Clipping by its definition: the oracle of its kernels.
#pragma once

#include <span>
#include <vector>

namespace reprise::kernels::reference {

std::vector<float> clip(std::span<const float> data, float limit);

}  // namespace reprise::kernels::reference
