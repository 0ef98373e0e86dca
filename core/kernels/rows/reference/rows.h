// Embedding, clipping and picking rows by their definitions: the oracles of those kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise::kernels::reference {

// Row ids[r] of table [entries, cols] for every r, [rows, cols]. Picks rows of any matrix.
std::vector<float> embedding(std::span<const float> table, int64_t cols,
                             std::span<const int32_t> ids);
std::vector<float> clip(std::span<const float> data, float limit);

}  // namespace reprise::kernels::reference
