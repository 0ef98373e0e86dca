#include "core/reuse/tree_options.h"

#include "core/base/error.h"

namespace reprise::reuse {

void TreeOptions::visit(OptionVisitor& visitor) {
  visitor.integer({"chunk_tokens", "tokens", "size of a chunk of the tree"}, {16, 1 << 16, 16},
                  chunk_tokens);
  visitor.boolean(
      {"reuse_prefill", "",
       "tokens found in the tree are not computed again; a request whose prefix another "
       "one is computing waits for it"},
      reuse_prefill);
  visitor.boolean({"retain", "",
                   "with reuse_prefill: chunks stay after their last sequence until the room is "
                   "needed, the longest unused goes first"},
                  retain);
}

void TreeOptions::check(const JsonObject& given) const {
  if (retain && !reuse_prefill)
    raise(
        "{}: retained prefixes are of use only to requests that do not compute them again: add "
        "\"reuse_prefill\": true",
        given.where("retain"));
}

}  // namespace reprise::reuse
