// Options of ChunkAttention.
#pragma once

#include <cstdint>

#include "core/device/device.h"
#include "core/reuse/tree_options.h"

namespace reprise::methods {

struct ChunkAttentionOptions {
  reuse::TreeOptions tree;
  int32_t share_threshold = 1;          // chunks of more sequences than this are read chunk-first
  bool item_per_shared_chunk = false;   // false: one item per run of chunks with the same sequences
  bool item_per_private_chunk = false;  // false: one item per sequence
  bool direct_reduction = false;        // kv::Reduction::kDirect

  void visit(reuse::OptionVisitor& visitor);
  void check(const JsonObject& given) const { tree.check(given); }
  // Throws Error if the options do not run on `device`.
  void check_device(Device device) const;
  static std::vector<reuse::Preset<ChunkAttentionOptions>> presets();
};

}  // namespace reprise::methods
