// The plain KV cache: each sequence keeps its keys and values in one contiguous private block.
#pragma once

#include "core/reuse/block_per_sequence.h"

namespace reprise::methods {

class Contiguous final : public reuse::BlockPerSequence {
 public:
  [[nodiscard]] reuse::MethodInfo info() const override {
    return {.name = "contiguous",
            .summary = "plain KV cache: one contiguous private block for each sequence",
            .paper = "",
            .exactness = reuse::Exactness::kExact};
  }
  [[nodiscard]] int32_t cached_tokens(reuse::RequestId, int32_t tokens) const override {
    return tokens;
  }
};

}  // namespace reprise::methods
