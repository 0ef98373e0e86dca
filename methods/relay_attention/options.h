// Options of RelayAttention.
#pragma once

#include <cstdint>

#include "core/reuse/options.h"

namespace reprise::methods {

struct RelayAttentionOptions {
  int32_t block_tokens = 64;         // tokens in a block of contexts and prefixes
  int32_t most_prefixes = 0;         // most prefixes declared at a time; 0: no limit
  int32_t prefix_buffer_tokens = 0;  // each prefix takes at least this much memory, in tokens

  void visit(reuse::OptionVisitor& visitor);
  static std::vector<reuse::Preset<RelayAttentionOptions>> presets();
};

}  // namespace reprise::methods
