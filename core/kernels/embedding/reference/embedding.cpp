#include "core/kernels/embedding/reference/embedding.h"

namespace reprise::kernels::reference {

std::vector<float> embedding(std::span<const float> table, int64_t cols,
                             std::span<const int32_t> ids) {
  std::vector<float> out;
  for (int32_t id : ids)
    for (int64_t c = 0; c < cols; ++c) out.push_back(table[static_cast<size_t>(id * cols + c)]);
  return out;
}

}  // namespace reprise::kernels::reference
