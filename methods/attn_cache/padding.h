// Pads or cuts prompts to one length, as the released code does.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise::attn_cache {

// Returns the first `tokens` of `ids`, or `ids` with `pad_id` put in front up to that number. In
// the released code a mask hides the padding. Here later tokens see it, because a stored map with
// another amount of padding would show it to them anyway.
std::vector<int32_t> pad_prompt(std::span<const int32_t> ids, int64_t tokens, int32_t pad_id);

}  // namespace reprise::attn_cache
