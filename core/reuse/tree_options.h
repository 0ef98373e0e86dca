// Options that every method of a chunked prefix tree has.
#pragma once

#include <cstdint>

#include "core/reuse/options.h"

namespace reprise::reuse {

struct TreeOptions {
  int32_t chunk_tokens = 64;   // a multiple of 16
  bool reuse_prefill = false;  // tokens found in the tree are not computed again
  bool retain = false;         // with reuse_prefill: chunks outlive their last sequence

  void visit(OptionVisitor& visitor);
  void check(const JsonObject& given) const;
};

}  // namespace reprise::reuse
