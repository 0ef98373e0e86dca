// Options that all paged methods have: block size and partitions.
#pragma once

#include <cstdint>

#include "core/reuse/options.h"
#include "core/reuse/tree_plan.h"

namespace reprise::reuse {

struct PagedOptions {
  int32_t block_tokens = 64;  // as long as the default of TreeOptions::chunk_tokens
  int32_t version = 1;  // 1: one pass over each sequence; 2: sequences are split into partitions
  int32_t partition_tokens = 512;  // version 2: tokens of a partition, a multiple of block_tokens

  void visit(OptionVisitor& visitor);
  void check(const JsonObject& given) const;

  [[nodiscard]] TreePlanOptions plan() const {
    return {.private_partition_tokens = version == 2 ? partition_tokens : 0};
  }
};

}  // namespace reprise::reuse
