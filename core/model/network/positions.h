// Rotary frequencies, ALiBi slopes and buckets of relative positions.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/config/config.h"

namespace reprise::model {

// Returns the rotation angle per position of each pair, [rotary.dims / 2], after the config's
// scaling. `length` is the sequence's largest position + 1, which is used only if
// rotary.depends_on_length(). Computed in f32, as for the training of the published models.
std::vector<float> rotary_frequencies(const RotaryConfig& rotary, int64_t length);

// Returns the slope of each head: 2^(-bias_max * k / n) for k = 1..n, where n = heads if heads is a
// power of two. Otherwise n is the next power of two, and the slopes are the first `heads` of those
// with even k followed by those with odd k.
std::vector<float> alibi_slopes(int64_t heads, double bias_max);

// Returns the row of the relative position table for each distance d between two tokens of a text:
// [2 * longest - 1], distance d at index d + longest - 1. Rows are clamped to the table.
// The row is span + d. With buckets and |d| above mid = buckets / 2, it is instead
//   span + sign(d) * (mid + ceil(log(|d| / mid) / log((max_distance - 1) / mid) * (mid - 1))),
// in f32 as the published models were trained.
// [DeBERTa §3.1, eq. 3; the buckets are those of its third version]
std::vector<int32_t> relative_buckets(const RelativeConfig& relative, int64_t longest);

}  // namespace reprise::model
