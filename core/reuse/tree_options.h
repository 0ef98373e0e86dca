// Options that every method of a chunked prefix tree has.
#pragma once

#include <cstdint>

#include "core/base/json.h"

namespace reprise::reuse {

struct TreeOptions {
  int32_t chunk_tokens = 64;   // a multiple of 16
  bool reuse_prefill = false;  // tokens found in the tree are not computed again
  bool retain = false;         // with reuse_prefill: chunks outlive their last sequence
};

// What is not given is as in `defaults`. Throws Error naming the option, what was found and what is
// accepted.
TreeOptions read_tree_options(JsonObject& options, const TreeOptions& defaults);

}  // namespace reprise::reuse
