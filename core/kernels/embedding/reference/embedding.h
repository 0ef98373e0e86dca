// Embedding by its definition: the oracle of the kernels that copy rows of a table.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise::kernels::reference {

// Returns [rows, cols]: row r is row ids[r] of `table` [entries, cols]. Also the oracle of
// GatherRowsCall.
std::vector<float> embedding(std::span<const float> table, int64_t cols,
                             std::span<const int32_t> ids);

}  // namespace reprise::kernels::reference
