// Iterates over the keys that a row of a plan reads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/kv/plan.h"

namespace reprise::kernels {

// Consecutive keys of one block.
struct KeyRun {
  int64_t first_key = 0;  // index of the first key among the row's keys
  int64_t tokens = 0;     // > 0, all visible
  int64_t offset = 0;     // element offset of the first key in its cache: layer 0, head 0
  int64_t position = 0;   // position of the first key
  const kv::CacheView* cache = nullptr;
};

// Calls fn(run) for each KeyRun that the row sees, in order. Runs leave out masked keys, but
// first_key counts them. Callers apply sliding windows themselves.
template <typename Fn>
void for_key_runs(const kv::AttentionPlan& plan, int64_t row, Fn&& fn) {
  int64_t before = 0;
  const auto begin = static_cast<size_t>(plan.row_begin[static_cast<size_t>(row)]);
  const auto end = static_cast<size_t>(plan.row_begin[static_cast<size_t>(row) + 1]);
  for (size_t i = begin; i < end; ++i) {
    const kv::WorkItem& item = plan.items[static_cast<size_t>(plan.row_items[i])];
    const kv::Segment& segment = plan.segment_of(item);
    const kv::CacheView& cache = plan.cache_of(segment);
    int64_t visible = segment.tokens;
    if (item.mask == kv::Mask::kCausal)
      visible = std::clamp<int64_t>(item.visible + (row - item.first_row), 0, visible);
    for (int64_t t = 0; t < visible;) {
      const int64_t at = segment.skipped + t, in_block = at % segment.block_tokens;
      const int64_t tokens = std::min(visible - t, segment.block_tokens - in_block);
      const auto block = static_cast<size_t>(segment.first_block + at / segment.block_tokens);
      fn(KeyRun{.first_key = before + t,
                .tokens = tokens,
                .offset = plan.block_offsets[block] + in_block * cache.head_dim,
                .position = segment.first_position + t,
                .cache = &cache});
      t += tokens;
    }
    before += segment.tokens;
  }
}

}  // namespace reprise::kernels
