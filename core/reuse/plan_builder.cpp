#include "core/reuse/plan_builder.h"

#include <algorithm>

namespace reprise::reuse {

void append_contiguous_reads(const StepSequence& sequence, int64_t block_offset,
                             kv::AttentionPlan& plan) {
  const std::span<const int32_t> positions = sequence.positions;
  const int32_t end_token = sequence.first_token + sequence.rows;
  for (int32_t first = 0; first < end_token;) {
    int32_t end = first + 1;
    while (end < end_token &&
           positions[static_cast<size_t>(end)] == positions[static_cast<size_t>(end) - 1] + 1)
      ++end;
    // Rows of tokens from `first` on read the run [first, end): those inside it causally.
    const int32_t reader = std::max(first, sequence.first_token);
    const bool inside = reader < end - 1;
    plan.items.push_back({.segment = static_cast<int32_t>(plan.segments.size()),
                          .first_row = sequence.first_row + reader - sequence.first_token,
                          .end_row = sequence.first_row + sequence.rows,
                          .mask = inside ? kv::Mask::kCausal : kv::Mask::kNone,
                          .visible = inside ? reader - first + 1 : 0});
    plan.segments.push_back({.first_block = static_cast<int32_t>(plan.block_offsets.size()),
                             .block_tokens = end - first,
                             .tokens = end - first,
                             .first_position = positions[static_cast<size_t>(first)]});
    plan.block_offsets.push_back(block_offset + static_cast<int64_t>(first) * plan.head_dim());
    first = end;
  }
}

}  // namespace reprise::reuse
