#include "core/kv/plan.h"

#include "core/base/error.h"

namespace reprise::kv {

void AttentionPlan::clear() {
  block_offsets.clear();
  segments.clear();
  items.clear();
  row_positions.clear();
  row_lengths.clear();
  row_slots.clear();
  row_begin.clear();
  row_items.clear();
  revision = 0;
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
  for (const Segment& segment : segments) {
    REPRISE_CHECK(segment.tokens >= 0 && segment.block_tokens > 0 && segment.skipped >= 0);
    const int64_t blocks =
        (static_cast<int64_t>(segment.skipped) + segment.tokens + segment.block_tokens - 1) /
        segment.block_tokens;
    REPRISE_CHECK(segment.first_block >= 0 &&
                      segment.first_block + blocks <= static_cast<int64_t>(block_offsets.size()),
                  "segment wants blocks [{}, {}) of {}", segment.first_block,
                  segment.first_block + blocks, block_offsets.size());
  }
  for (size_t row = 0; row < num_rows; ++row) row_begin[row + 1] += row_begin[row];
  row_items.resize(static_cast<size_t>(row_begin[num_rows]));
  // Items are visited in order, so each row's list is in item order; row_begin serves as cursor and
  // is shifted back.
  for (size_t i = 0; i < items.size(); ++i)
    for (int32_t row = items[i].first_row; row < items[i].end_row; ++row)
      row_items[static_cast<size_t>(row_begin[static_cast<size_t>(row)]++)] =
          static_cast<int32_t>(i);
  for (size_t row = num_rows; row > 0; --row) row_begin[row] = row_begin[row - 1];
  row_begin[0] = 0;
}

}  // namespace reprise::kv
