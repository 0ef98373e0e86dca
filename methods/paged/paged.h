// PagedAttention: each sequence keeps its keys and values in fixed-size blocks of its own.
#pragma once

#include "core/reuse/paged_options.h"
#include "core/reuse/prefix_tree_method.h"

namespace reprise::methods {

class Paged final : public reuse::PrefixTreeMethod {
 public:
  explicit Paged(const reuse::PagedOptions& options)
      : PrefixTreeMethod(
            {.tree = {.chunk_tokens = options.block_tokens, .matching = reuse::Matching::kNone},
             .plan = options.plan()},
            [](const reuse::TreeNode&) { return false; }) {}

  [[nodiscard]] reuse::MethodInfo info() const override {
    return {.name = "paged",
            .summary = "fixed-size blocks for each sequence, taken as it grows; nothing is shared",
            .paper = "PagedAttention",
            .exactness = reuse::Exactness::kExact};
  }
};

}  // namespace reprise::methods
