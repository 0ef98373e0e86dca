// Repairs isolated states: computes again the imported tokens that deviate most, now seeing all
// tokens before them. [beyond Prompt Cache; after CacheBlend §4]
//
// A token's deviation is the squared distance of its keys and values in the second layer (the first
// whose states depend on other tokens) from those of a causal pass over all imported tokens. That
// pass computes only two layers. The tokens that deviate most are computed again in all layers;
// each sees, at lower positions, the new states of these tokens and the imported states of all
// other tokens.
#pragma once

#include <vector>

#include "core/model/network/decoder.h"
#include "methods/prompt_cache/encode.h"
#include "methods/prompt_cache/imports.h"

namespace reprise::prompt_cache {

struct Repair {
  std::vector<StateRun> runs;    // imported and recomputed runs, in order of position
  int32_t recomputed = 0;        // tokens
  int64_t recomputed_bytes = 0;  // bytes of keys and values held only for this prompt
};

// Recomputes the ceil(ratio x tokens) tokens that deviate most. `placed` has the tokens of `runs`
// in their order. ratio is in [0, 1]; with 1 the states equal those of one pass over all imported
// tokens. Throws Error for another ratio, and as SegmentHandle::check_layer().
Repair repair_states(model::Decoder& decoder, std::vector<StateRun> runs,
                     const PlacedTokens& placed, double ratio, const EncodeOptions& options);

}  // namespace reprise::prompt_cache
