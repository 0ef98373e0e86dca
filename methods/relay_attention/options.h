// What can be chosen about RelayAttention.
#pragma once

#include <cstdint>

#include "core/base/json.h"

namespace reprise::methods {

struct RelayAttentionOptions {
  int32_t block_tokens = 64;         // of contexts and prefixes
  int32_t most_prefixes = 0;         // 0: as many as are declared
  int32_t prefix_buffer_tokens = 0;  // memory that a prefix takes at least
};

// Throws Error naming the option, what was found and what is accepted.
RelayAttentionOptions read_relay_attention_options(JsonObject& options);

}  // namespace reprise::methods
