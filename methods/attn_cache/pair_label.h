// Labels pairs of stored prompts with a distance, which the distance of their feature vectors is
// trained to equal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/device/context.h"
#include "methods/attn_cache/map_store.h"
#include "methods/attn_cache/vector_index.h"

namespace reprise::attn_cache {

struct LabelWeights {
  double map = 1.0;     // the released code: 1/2
  double length = 0.2;  // alpha; the released code: 1, AttnCache-f: 0
};

// The label of a pair of maps A, A' of one layer each, of prompts with s, s' tokens:
//   y = map * 1/heads 1/rows sum_h sum_p ||A[h, p, :] - A'[h, p, :]||_1  +  length * |s - s'|
// [AttnCache eq. 2; the mean over rows is the released code's.] If the lengths differ, only the
// rows and keys that both maps have count. Reads and checks the maps in place; thread-safe.
double pair_label(const MapStore& maps, const IndexEntry& a, const IndexEntry& b,
                  const LabelWeights& weights);

// Labels all pairs of `entries`. Writes only the part of labels [n, n] above the diagonal.
void label_pairs(const MapStore& maps, std::span<const IndexEntry> entries,
                 const LabelWeights& weights, std::span<float> labels, const Context& context);

}  // namespace reprise::attn_cache
