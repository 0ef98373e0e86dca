// No cache: every new token computes keys and values of all tokens before it again.
#pragma once

#include "core/reuse/block_per_sequence.h"

namespace reprise::methods {

// The block of a sequence is scratch for the pass under way; nothing in it outlives the token the
// pass makes.
class Recompute final : public reuse::BlockPerSequence {
 public:
  [[nodiscard]] int32_t cached_tokens(reuse::RequestId, int32_t) const override { return 0; }
};

}  // namespace reprise::methods
