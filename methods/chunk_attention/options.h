// What can be chosen about ChunkAttention.
#pragma once

#include <cstdint>

#include "core/reuse/tree_options.h"

namespace reprise::methods {

struct ChunkAttentionOptions {
  reuse::TreeOptions tree;
  int32_t share_threshold = 1;          // chunks of more sequences of the step are read chunk-first
  bool item_per_shared_chunk = false;   // else neighbouring chunks of equal readers are one item
  bool item_per_private_chunk = false;  // else what a sequence reads alone is one item

  void visit(reuse::OptionVisitor& visitor);
  void check(const JsonObject& given) const { tree.check(given); }
  static std::vector<reuse::Preset<ChunkAttentionOptions>> presets();
};

}  // namespace reprise::methods
