// Labels pairs of stored prompts with a distance. Training brings the distance of their feature
// vectors close to the label.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/context.h"
#include "methods/attn_cache/fitted_map.h"
#include "methods/attn_cache/map_store.h"
#include "methods/attn_cache/vector_index.h"

namespace reprise::attn_cache {

// The norm of the difference of two rows of maps.
enum class MapNorm : uint8_t { kL1, kL2 };

std::string_view name_of(MapNorm norm);  // "l1", "l2"
// Throws Error with the nearest name.
MapNorm parse_map_norm(std::string_view name);
std::vector<std::string> map_norm_names();

// The rule for a pair's label. Equation 2 is only partly legible: it can be read as L1 or L2, whole
// or halved. The paper's text names L1. Half of L1 is the total variation distance, which the
// released code computes.
struct LabelRule {
  MapNorm norm = MapNorm::kL1;
  double map = 0.5;
  double length = 0.2;  // alpha; the released code: 1 for MMLU, 0 for STS; AttnCache-f: 0
  Alignment alignment = Alignment::kBegin;
  // If above 0, prompts count as padded on the left to this many tokens, with the padding masked. A
  // padding row gives all keys equal weight, so the padding rows of two prompts do not differ. This
  // is so in a decoder; in an encoder, padding rows would attend to the prompt's tokens.
  int64_t padded_tokens = 0;
};

// The label of a pair of maps A, A' of one layer each, of prompts with s, s' tokens:
//   y = map * 1/heads 1/rows sum_h sum_p ||A[h, p, :] - A'[h, p, :]||  +  length * |s - s'|
// [AttnCache eq. 2; the mean over rows is the released code's.] If padded_tokens is set, the sum is
// over that many rows. Otherwise it is over the rows that both prompts have, and only over the keys
// at the positions of these rows. Reads and checks the maps in place; thread-safe.
double pair_label(const MapStore& maps, const IndexEntry& a, const IndexEntry& b,
                  const LabelRule& rule);

// Labels all pairs of `entries`. Writes only the part of labels [n, n] above the diagonal.
void label_pairs(const MapStore& maps, std::span<const IndexEntry> entries, const LabelRule& rule,
                 std::span<float> labels, const Context& context);

}  // namespace reprise::attn_cache
