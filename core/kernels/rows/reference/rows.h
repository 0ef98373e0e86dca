// Embedding, clipping and selecting rows by their definitions: the oracles of those kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise::kernels::reference {

// Row ids[r] of table [entries, cols] for each r, [rows, cols]. Also the oracle of gather_rows.
std::vector<float> embedding(std::span<const float> table, int64_t cols,
                             std::span<const int32_t> ids);
std::vector<float> clip(std::span<const float> data, float limit);

}  // namespace reprise::kernels::reference
