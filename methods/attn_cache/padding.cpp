#include "methods/attn_cache/padding.h"

#include <algorithm>

namespace reprise::attn_cache {

std::vector<int32_t> pad_prompt(std::span<const int32_t> ids, int64_t tokens, int32_t pad_id) {
  std::vector<int32_t> padded(static_cast<size_t>(tokens), pad_id);
  const size_t kept = std::min(ids.size(), padded.size());
  std::copy_n(ids.begin(), kept, padded.end() - static_cast<std::ptrdiff_t>(kept));
  return padded;
}

}  // namespace reprise::attn_cache
