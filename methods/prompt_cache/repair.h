// Repairs isolated states: the imported tokens that deviate most are computed again, seeing all
// that stands before them. [beyond Prompt Cache; in the manner of CacheBlend §4]
#pragma once

#include <vector>

#include "core/model/network/decoder.h"
#include "methods/prompt_cache/encode.h"
#include "methods/prompt_cache/imports.h"

namespace reprise::prompt_cache {

struct Repair {
  std::vector<StateRun> runs;    // by position: kept ones, and those computed again between them
  int32_t recomputed = 0;        // tokens
  int64_t recomputed_bytes = 0;  // keys and values held apart for this prompt
};

// `placed`: the tokens of `runs`, in their order. How far a token deviates is the squared distance
// of its keys and values in the second layer (the first whose states depend on other tokens) from
// those of one causal pass over all of `placed`, of which that needs two layers. The
// ceil(ratio x tokens) farthest are computed again in all layers and see each other, at what is
// before them, as they are computed anew, and the other tokens as imported. ratio in [0, 1]: with 1
// the states are those of a common pass. Throws Error for another ratio.
Repair repair_states(model::Decoder& decoder, std::vector<StateRun> runs,
                     const PlacedTokens& placed, double ratio, const EncodeOptions& options);

}  // namespace reprise::prompt_cache
