#pragma once

#include <cstdint>
#include <vector>

namespace reprise::reuse {

// `count` token ids that count up from `first`.
inline std::vector<int32_t> counting(int32_t first, int32_t count) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < count; ++i) tokens.push_back(first + i);
  return tokens;
}

}  // namespace reprise::reuse
