// Prompts of one length, as the released code makes them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise::attn_cache {

// `ids` cut to its first `tokens`, or with `pad_id` before it until there are so many. Unlike in
// the released code, whose mask hides them, later tokens see the padding here: a map that was
// stored of another amount of it would show it to them anyway.
std::vector<int32_t> pad_prompt(std::span<const int32_t> ids, int64_t tokens, int32_t pad_id);

}  // namespace reprise::attn_cache
