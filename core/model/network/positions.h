// What positions mean to a model: rotary frequencies and ALiBi slopes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/config/config.h"

namespace reprise::model {

// Angle per position of each rotated pair, [rotary.dims / 2], after the config's scaling. `length`
// is the sequence's largest position + 1; only dynamic scaling depends on it (beyond the trained
// length the base grows with it). In f32 arithmetic throughout, which is how the published models
// were trained and how their other runtimes compute it.
std::vector<float> rotary_frequencies(const RotaryConfig& rotary, int64_t length);

// Slope of each head: 2^(-bias_max * k / n) for k = 1..n where n = heads is a power of two; else n
// is the power of two above, and the even k come first, then the odd ones, as far as there are
// heads.
std::vector<float> alibi_slopes(int64_t heads, double bias_max);

// The row of the table of relative positions for each distance i - j between texts' tokens:
// [2 * longest - 1], of distance d at d + longest - 1. Of bucketed distances beyond half the
// buckets (mid), row span + sign * (mid + ceil(log(|d| / mid) / log((max_distance - 1) / mid) *
// (mid - 1))), in f32 arithmetic as the published models were trained; none leaves the table.
// [DeBERTa §3.1, eq. 3; the buckets are those of its third version]
std::vector<int32_t> relative_buckets(const RelativeConfig& relative, int64_t longest);

}  // namespace reprise::model
