// PagedAttention with shared memory: sequences with equal prefixes use the same blocks, but the
// kernel reads a shared block once per sequence.
#pragma once

#include "core/reuse/paged_options.h"
#include "core/reuse/prefix_tree_cache.h"

namespace reprise::methods {

struct PagedSharedOptions {
  reuse::PagedOptions paged;
  bool reuse_prefill = false;
  bool declared = false;  // true: only declared prefixes are shared

  void visit(reuse::OptionVisitor& visitor) {
    paged.visit(visitor);
    visitor.boolean({"reuse_prefill", "",
                     "tokens found in memory are not computed again; a request whose prefix is "
                     "being computed waits for it"},
                    reuse_prefill);
    visitor.boolean({"declared", "",
                     "what is shared is declared prefixes, computed once and kept; equal blocks "
                     "are not looked for"},
                    declared);
  }
  void check(const JsonObject& given) const { paged.check(given); }
};

class PagedShared final : public reuse::PrefixTreeCache {
 public:
  explicit PagedShared(const PagedSharedOptions& options)
      : PrefixTreeCache({.tree = {.chunk_tokens = options.paged.block_tokens,
                                  .matching = options.declared ? reuse::Matching::kPinned
                                                               : reuse::Matching::kChunks},
                         .reuse_prefill = options.reuse_prefill || options.declared,
                         .plan = options.paged.plan()},
                        /*shares=*/nullptr) {}
};

}  // namespace reprise::methods
