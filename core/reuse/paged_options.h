// How a paged cache is cut: what the paged methods' options have in common.
#pragma once

#include <cstdint>

#include "core/reuse/options.h"
#include "core/reuse/tree_plan.h"

namespace reprise::reuse {

struct PagedOptions {
  int32_t block_tokens = 64;       // as long as a chunk of chunk_attention's
  int32_t version = 1;             // 2: attention is split along the sequence
  int32_t partition_tokens = 512;  // into parts of so many tokens, a multiple of block_tokens

  void visit(OptionVisitor& visitor);
  void check(const JsonObject& given) const;

  [[nodiscard]] TreePlanOptions plan() const {
    return {.private_partition_tokens = version == 2 ? partition_tokens : 0};
  }
};

}  // namespace reprise::reuse
