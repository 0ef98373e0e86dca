// Fits stored attention maps to prompts of another length.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/context.h"
#include "core/kernels/attention_map/attention_map.h"

namespace reprise::attn_cache {

// How the tokens of two prompts of different lengths correspond: by their distance from the first
// token (kBegin), or from the last (kEnd, as if the shorter prompt were padded on the left).
enum class Alignment : uint8_t { kBegin, kEnd };

std::string_view name_of(Alignment alignment);  // "begin", "end"
// Throws Error with the nearest name.
Alignment parse_alignment(std::string_view name);
std::vector<std::string> alignment_names();

// Writes the weights [keys] of one row of a stored map as f32.
void read_row(const kernels::MapView& stored, int64_t head, int64_t row, std::span<float> out);

// Fits a stored map [heads, s, s] to a prompt of `tokens` tokens and writes it to `out` [heads,
// tokens, tokens] f32:
//   out[h, p, k] = stored[h, p - shift, k - shift] / their sum over k
// with shift 0 (kBegin) or tokens - s (kEnd). Keys that are not stored get 0. A row that is not
// stored, or whose weights are all 0, gives equal weights to the keys that it sees, as softmax of
// equal scores does. A row of a causal map sees the keys up to its own. The paper asks that lengths
// be similar [AttnCache §3.1] and does not say how one prompt's map becomes another's.
void fit_map(const kernels::MapView& stored, Alignment alignment, int64_t tokens, bool is_causal,
             std::span<float> out, const Context& context);

}  // namespace reprise::attn_cache
