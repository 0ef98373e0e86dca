#include "core/kv/plan_rows.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::kv {
namespace {

template <typename T>
std::vector<T> part_of(const std::vector<T>& rows, int32_t first, int32_t end) {
  return {rows.begin() + first, rows.begin() + end};
}

}  // namespace

AttentionPlan cut_to_rows(const AttentionPlan& plan, int32_t first, int32_t end) {
  REPRISE_CHECK(first >= 0 && first <= end && end <= plan.rows(), "rows [{}, {}) of {}", first, end,
                plan.rows());
  AttentionPlan part;
  part.caches = plan.caches;
  part.block_offsets = plan.block_offsets;
  part.segments = plan.segments;
  part.row_positions = part_of(plan.row_positions, first, end);
  part.row_lengths = part_of(plan.row_lengths, first, end);
  part.row_slots = part_of(plan.row_slots, first, end);
  for (WorkItem item : plan.items) {
    const int32_t begin = std::max(item.first_row, first);
    item.end_row = std::min(item.end_row, end) - first;
    item.visible += begin - item.first_row;  // kCausal: each row sees one token more than the last
    item.first_row = begin - first;
    if (item.first_row < item.end_row) part.items.push_back(item);
  }
  part.finish();
  return part;
}

}  // namespace reprise::kv
