// Options that all methods with a prefix tree of chunks have.
#pragma once

#include <cstdint>

#include "core/reuse/options.h"

namespace reprise::reuse {

struct TreeOptions {
  int32_t chunk_tokens = 64;   // a multiple of 16
  bool reuse_prefill = false;  // true: tokens found in the tree are not computed again
  // true: chunks stay after their last sequence has ended; needs reuse_prefill
  bool retain = false;

  void visit(OptionVisitor& visitor);
  void check(const JsonObject& given) const;
};

}  // namespace reprise::reuse
