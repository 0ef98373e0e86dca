// What can be chosen about RelayAttention.
#pragma once

#include <cstdint>

#include "core/reuse/options.h"

namespace reprise::methods {

struct RelayAttentionOptions {
  int32_t block_tokens = 64;         // of contexts and prefixes
  int32_t most_prefixes = 0;         // 0: as many as are declared
  int32_t prefix_buffer_tokens = 0;  // memory that a prefix takes at least

  void visit(reuse::OptionVisitor& visitor);
  static std::vector<reuse::Preset<RelayAttentionOptions>> presets();
};

}  // namespace reprise::methods
