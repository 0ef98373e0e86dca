// No cache: for every new token, the keys and values of all earlier tokens are computed again.
#pragma once

#include "core/reuse/block_per_sequence.h"

namespace reprise::methods {

// The block of a sequence is scratch memory of one forward pass and keeps nothing for the next
// pass.
class Recompute final : public reuse::BlockPerSequence {
 public:
  [[nodiscard]] int32_t cached_tokens(reuse::RequestId, int32_t) const override { return 0; }
};

}  // namespace reprise::methods
