#include "core/kv/plan.h"

#include "core/base/error.h"

namespace reprise::kv {
namespace {

void check_caches(const std::vector<CacheView>& caches) {
  for (const CacheView& cache : caches)
    REPRISE_CHECK(cache.kv_heads == caches[0].kv_heads && cache.head_dim == caches[0].head_dim &&
                      cache.device == caches[0].device,
                  "caches of one plan differ: {} kv heads of {} beside {} of {}, or their devices",
                  cache.kv_heads, cache.head_dim, caches[0].kv_heads, caches[0].head_dim);
}

void check_segments(const AttentionPlan& plan) {
  for (const Segment& segment : plan.segments) {
    REPRISE_CHECK(segment.cache >= 0 && static_cast<size_t>(segment.cache) < plan.caches.size(),
                  "segment in cache {} of {}", segment.cache, plan.caches.size());
    REPRISE_CHECK(segment.tokens >= 0 && segment.block_tokens > 0 && segment.skipped >= 0);
    const int64_t blocks =
        (static_cast<int64_t>(segment.skipped) + segment.tokens + segment.block_tokens - 1) /
        segment.block_tokens;
    REPRISE_CHECK(segment.first_block >= 0 && segment.first_block + blocks <=
                                                  static_cast<int64_t>(plan.block_offsets.size()),
                  "segment wants blocks [{}, {}) of {}", segment.first_block,
                  segment.first_block + blocks, plan.block_offsets.size());
  }
}

}  // namespace

void AttentionPlan::clear() {
  caches.clear();
  block_offsets.clear();
  segments.clear();
  items.clear();
  row_positions.clear();
  row_lengths.clear();
  row_slots.clear();
  row_begin.clear();
  row_items.clear();
  reduction = Reduction::kMerge;
  revision = 0;
}

void AttentionPlan::begin(const CacheView& own) {
  clear();
  caches.push_back(own);
}

int32_t AttentionPlan::add_cache(const CacheView& cache) {
  if (!caches.empty() && cache.device != caches[0].device)
    raise("keys and values on device {} beside a cache on device {}: copy them there",
          name_of(cache.device), name_of(caches[0].device));
  revision = 0;
  caches.push_back(cache);
  return static_cast<int32_t>(caches.size()) - 1;
}

int32_t AttentionPlan::add_segment(Segment segment, std::span<const int64_t> blocks) {
  revision = 0;
  segment.first_block = static_cast<int32_t>(block_offsets.size());
  block_offsets.insert(block_offsets.end(), blocks.begin(), blocks.end());
  segments.push_back(segment);
  return static_cast<int32_t>(segments.size()) - 1;
}

int32_t AttentionPlan::add_item(const WorkItem& item) {
  revision = 0;
  items.push_back(item);
  return static_cast<int32_t>(items.size()) - 1;
}

void AttentionPlan::finish() {
  const size_t num_rows = row_positions.size();
  REPRISE_CHECK(row_slots.size() == num_rows && row_lengths.size() == num_rows,
                "{} rows, {} slots, {} lengths", num_rows, row_slots.size(), row_lengths.size());
  row_begin.assign(num_rows + 1, 0);
  for (const WorkItem& item : items) {
    REPRISE_CHECK(item.segment >= 0 && static_cast<size_t>(item.segment) < segments.size());
    REPRISE_CHECK(0 <= item.first_row && item.first_row < item.end_row &&
                      static_cast<size_t>(item.end_row) <= num_rows,
                  "item rows [{}, {}) of {}", item.first_row, item.end_row, num_rows);
    for (int32_t row = item.first_row; row < item.end_row; ++row)
      ++row_begin[static_cast<size_t>(row) + 1];
  }
  check_caches(caches);
  check_segments(*this);
  for (const int64_t slot : row_slots) REPRISE_CHECK(slot >= kNoSlot, "a row's slot is {}", slot);
  for (size_t row = 0; row < num_rows; ++row) row_begin[row + 1] += row_begin[row];
  row_items.resize(static_cast<size_t>(row_begin[num_rows]));
  // Items are visited in order, so each row's list of items ascends. row_begin is used as the write
  // position and shifted back afterwards.
  for (size_t i = 0; i < items.size(); ++i)
    for (int32_t row = items[i].first_row; row < items[i].end_row; ++row)
      row_items[static_cast<size_t>(row_begin[static_cast<size_t>(row)]++)] =
          static_cast<int32_t>(i);
  for (size_t row = num_rows; row > 0; --row) row_begin[row] = row_begin[row - 1];
  row_begin[0] = 0;
}

}  // namespace reprise::kv
