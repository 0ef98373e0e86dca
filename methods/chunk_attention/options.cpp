#include "methods/chunk_attention/options.h"

#include <array>

#include "core/base/error.h"

namespace reprise::methods {
namespace {

ChunkAttentionOptions preset_of(JsonObject& options) {
  const std::array<std::string, 3> known = {"compressed", "as_published", "as_coded"};
  const std::string preset = options.string("preset", known[0]);
  if (preset == known[0]) return {};
  // Each shared chunk leaves partial results of its own.   [ChunkAttention §3.2, algorithm 1]
  if (preset == known[1]) return {.item_per_shared_chunk = true};
  // The released CPU kernel reads every chunk chunk-first, however few sequences it has.
  if (preset == known[2])
    return {.share_threshold = 0, .item_per_shared_chunk = true, .item_per_private_chunk = true};
  raise("{}: {}", options.where("preset"), unknown_name("preset", preset, known));
}

}  // namespace

ChunkAttentionOptions read_chunk_attention_options(JsonObject& options) {
  ChunkAttentionOptions chosen = preset_of(options);
  chosen.tree = reuse::read_tree_options(options, chosen.tree);
  chosen.share_threshold = static_cast<int32_t>(
      options.integer_in("share_threshold", 0, 1 << 20, chosen.share_threshold));
  return chosen;
}

}  // namespace reprise::methods
