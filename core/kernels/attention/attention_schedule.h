// Divides a step's attention into parts and tasks, and lists which partial results are merged into
// which row. Computed once from the plan and used by every layer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/device/context.h"
#include "core/kv/plan.h"

namespace reprise::kernels {

struct AttentionParams;

enum class RowResults : uint8_t {
  kFinished,  // rows with a single part are written to the output directly
  kPartial    // every part writes partial results
};

// Part of a work item: keys [first_key, end_key) of the item's segment against all rows of the
// item.
struct SchedulePart {
  int32_t item = 0;
  int32_t first_key = 0;
  int32_t end_key = 0;
  bool is_alone = false;  // true: its rows have no other part, so it writes them to the output
  // If not alone: entry of (the item's first row, head 0). With Reduction::kDirect all parts of a
  // row have the same entries.
  int64_t first_entry = 0;
};

// The work that a worker takes at once: some lanes of some units against the keys of a part. A unit
// is a kv head, or a query head if each has its own ALiBi slope. A lane is a pair of a row and a
// query head of the unit.
struct ScheduleTask {
  int32_t part = 0;
  int32_t first_unit = 0;
  int32_t units = 0;
  int32_t first_lane = 0;
  int32_t lanes = 0;  // lanes of each unit
};

// Keys [first, end) of a segment, counted from the segment's first token.
struct KeyRange {
  int32_t first = 0, end = 0;
  [[nodiscard]] int64_t count() const { return end > first ? end - first : 0; }
};

// Keys of the item's segment that any of its rows [first_row, end_row) may see. Rows are rows of
// the plan; `window` as in AttentionParams.
KeyRange seen_keys(const kv::AttentionPlan& plan, const kv::WorkItem& item, int32_t first_row,
                   int32_t end_row, int64_t window);

// The division of each item into parts, chosen for the kernels of a device other than the CPU.
struct ItemCuts {
  std::span<const int32_t> parts;  // [items]  parts of each item, > 0 and at most its key tiles
  // A part begins where a key tile begins. Tiles of key_tile keys are counted from the start of the
  // segment's first block.
  int32_t key_tile = 0;
};

// The schedule of a step: plain arrays without pointers, which are copied to a device once for all
// layers.
//
// An item gives one task for each kv head and tile of rows, and a tile is as large as the caches of
// one worker allow. So in a model with few kv heads, even an item with many rows gives few tasks.
// If the whole plan has too few tasks to keep the workers busy, long items are split along their
// keys [ChunkAttention §3.2]. The split depends on the plan but not on the number of threads, so a
// row is rounded alike for any number of threads. The number of threads determines only how many
// lanes and units a task takes. The split does depend on the other sequences of the step: a
// sequence of 2048 or more tokens is split if it is the only one, but not if it is one of many.
// With a batch-invariant context no item is split.
struct AttentionSchedule {
  int64_t heads = 0;  // query heads
  int64_t units = 0;
  int64_t group = 0;                   // query heads in a unit
  int64_t entries = 0;                 // partial results: one per (part, row, head) if not is_alone
  bool is_direct = false;              // Reduction::kDirect; entries are then (row, head)
  std::vector<SchedulePart> parts;     // in item order, then in key order
  std::vector<int32_t> part_begin;     // [items + 1]  CSR into parts
  std::vector<ScheduleTask> tasks;     // in the order in which they are handed out
  std::vector<int32_t> merged_rows;    // rows to merge; a row without a part becomes 0
  std::vector<int32_t> merge_begin;    // [merged rows + 1]  CSR into merge_entries
  std::vector<int64_t> merge_entries;  // entries of a merged row's parts, head 0, by position

  // Builds the schedule for query rows of `query_heads` heads. The plan must be finished. Reuses
  // the arrays' memory, so that similar steps allocate nothing. Throws ShapeError if query_heads %
  // kv_heads != 0 or head_dim is too large. With a batch-invariant context, throws Error if a row
  // reads several items, or if it reads an item that skips tokens of its first block.
  void build(const kv::AttentionPlan& plan, int64_t query_heads, const AttentionParams& params,
             const Context& context, RowResults results = RowResults::kFinished);
  // Does what build() does, but with the parts that `cuts` gives and without tasks, which the
  // device's code makes itself. Throws Error for Reduction::kDirect, which only the CPU supports.
  void cut(const kv::AttentionPlan& plan, int64_t query_heads, const AttentionParams& params,
           const ItemCuts& cuts, RowResults results = RowResults::kFinished);
};

}  // namespace reprise::kernels
