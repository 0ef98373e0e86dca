// Rows of a table by their definition: the oracle of embeddings and of picking rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise::kernels::reference {

// Row ids[r] of table [entries, cols] for each r, [rows, cols]. Also the oracle of gather_rows.
std::vector<float> embedding(std::span<const float> table, int64_t cols,
                             std::span<const int32_t> ids);

}  // namespace reprise::kernels::reference
