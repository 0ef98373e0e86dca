// PagedAttention: each sequence keeps its keys and values in fixed-size blocks of its own.
#pragma once

#include "core/engine/paged_options.h"
#include "core/engine/prefix_tree_method.h"

namespace reprise::methods {

class Paged final : public engine::PrefixTreeMethod {
 public:
  explicit Paged(const engine::PagedOptions& options)
      : PrefixTreeMethod(
            {.tree = {.chunk_tokens = options.block_tokens, .matching = kv::Matching::kNone},
             .plan = options.plan()},
            [](const engine::TreeNode&) { return false; }) {}

  [[nodiscard]] engine::MethodInfo info() const override {
    return {.name = "paged",
            .summary = "fixed-size blocks for each sequence, taken as it grows; nothing is shared",
            .paper = "PagedAttention",
            .exactness = engine::Exactness::kExact};
  }
};

}  // namespace reprise::methods
