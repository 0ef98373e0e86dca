#include "core/reuse/tree_options.h"

#include "core/base/error.h"

namespace reprise::reuse {

TreeOptions read_tree_options(JsonObject& options, const TreeOptions& defaults) {
  TreeOptions chosen = defaults;
  chosen.chunk_tokens =
      static_cast<int32_t>(options.integer_in("chunk_tokens", 16, 1 << 16, chosen.chunk_tokens));
  if (chosen.chunk_tokens % 16 != 0)
    raise("{}: {} is no multiple of 16: try {}", options.where("chunk_tokens"), chosen.chunk_tokens,
          chosen.chunk_tokens / 16 * 16);
  chosen.reuse_prefill = options.boolean("reuse_prefill", defaults.reuse_prefill);
  chosen.retain = options.boolean("retain", defaults.retain);
  if (chosen.retain && !chosen.reuse_prefill)
    raise(
        "{}: retained prefixes are of use only to requests that do not compute them again: add "
        "\"reuse_prefill\": true",
        options.where("retain"));
  return chosen;
}

}  // namespace reprise::reuse
