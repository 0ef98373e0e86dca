// Tests of decoders with two layers take their token ids and the bound on their logits from here.
#pragma once

#include <cstdint>
#include <vector>

namespace reprise::model {

// Logits have magnitude ~4. Two layers of about six operations, each a sum of at most 400 terms
// with roundings of 2^-24 that add like a random walk: 12 * 4 * 20 * 2^-24 = 6e-5 at most.
inline constexpr double kTwoLayersBound = 6e-5;

// Token ids below 97.
inline std::vector<int32_t> some_ids(int32_t count, int32_t seed = 3) {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < count; ++i) ids.push_back((i * i * 7 + seed) % 97);
  return ids;
}

}  // namespace reprise::model
