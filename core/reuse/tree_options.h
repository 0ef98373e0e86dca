// Options that all methods with a prefix tree of chunks have.
#pragma once

#include <cstdint>

#include "core/reuse/options.h"

namespace reprise::reuse {

struct TreeOptions {
  int32_t chunk_tokens = 64;   // a multiple of 16
  bool reuse_prefill = false;  // tokens found in the tree are not computed again
  bool retain = false;         // needs reuse_prefill: chunks stay after their last sequence

  void visit(OptionVisitor& visitor);
  void check(const JsonObject& given) const;
};

}  // namespace reprise::reuse
