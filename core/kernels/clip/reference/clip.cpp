#include "core/kernels/clip/reference/clip.h"

#include <algorithm>

namespace reprise::kernels::reference {

std::vector<float> clip(std::span<const float> data, float limit) {
  std::vector<float> out;
  for (float value : data) out.push_back(std::clamp(value, -limit, limit));
  return out;
}

}  // namespace reprise::kernels::reference
