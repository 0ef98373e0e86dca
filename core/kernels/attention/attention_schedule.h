// How the attention of one step is cut into tasks and merged: computed once from the plan, then
// used by every layer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/device/context.h"
#include "core/kv/plan.h"

namespace reprise::kernels {

struct AttentionParams;

enum class RowResults : uint8_t {
  kFinished,  // rows that one part computes whole are finished in the output
  kPartial    // every row goes through partial results
};

// Keys [first_key, end_key) of an item's segment, against all the item's rows.
struct SchedulePart {
  int32_t item = 0;
  int32_t first_key = 0;
  int32_t end_key = 0;
  bool is_alone = false;    // its rows have no other part: they are finished in the output
  int64_t first_entry = 0;  // otherwise: of (the item's first row, head 0) in the partial results
};

// What one worker computes in one go: some lanes of some units against a part's keys. A unit is a
// kv head, or a query head where each has its own ALiBi slope; a lane is a (row, query head of the
// unit).
struct ScheduleTask {
  int32_t part = 0;
  int32_t first_unit = 0;
  int32_t units = 0;
  int32_t first_lane = 0;
  int32_t lanes = 0;  // of each unit
};

// Keys [first, end) of a segment, by their number in it.
struct KeyRange {
  int32_t first = 0, end = 0;
  [[nodiscard]] int64_t count() const { return end > first ? end - first : 0; }
};

// Keys of the item's segment that any of the rows [first_row, end_row) may see, which are rows of
// the plan and the item's. `window` as in AttentionParams.
KeyRange seen_keys(const kv::AttentionPlan& plan, const kv::WorkItem& item, int32_t first_row,
                   int32_t end_row, int64_t window);

// How the kernels of another device want the items cut.
struct ItemCuts {
  std::span<const int32_t> parts;  // [items]  of each, > 0 and at most its key tiles
  int32_t key_tile = 0;            // parts meet where tiles of so many keys do, see build()
};

// Plain arrays without pointers: what a device uploads once for all layers.
//
// A task is what fits one worker's caches, so a node that many rows share makes few of them where
// the model has few kv heads: one for each head and tile of rows. Where those of the whole plan are
// fewer than there are workers to keep busy, long items are split along their keys [ChunkAttention
// §3.2]. How they are split depends on the plan alone: a row's rounding is the same for any number
// of threads, which decide only what each task takes of the lanes and units. It may differ between
// steps of other sequences: one of 2048 tokens or more is split by itself, but not among many.
struct AttentionSchedule {
  int64_t heads = 0;  // of the queries
  int64_t units = 0;
  int64_t group = 0;    // query heads of a unit
  int64_t entries = 0;  // of the partial results: one for each (part, row, head) that is not alone
  std::vector<SchedulePart> parts;     // in item order, then in key order
  std::vector<int32_t> part_begin;     // [items + 1]  parts of each item
  std::vector<ScheduleTask> tasks;     // in the order they are handed out
  std::vector<int32_t> merged_rows;    // rows whose results are merged; those without a part are 0
  std::vector<int32_t> merge_begin;    // [merged rows + 1]  CSR into merge_entries
  std::vector<int64_t> merge_entries;  // of each merged row's parts, head 0, in part order

  // For query rows of `heads` heads. The plan must be finished. Keeps the memory of the arrays, so
  // that steps of like shape allocate nothing. Throws ShapeError where the heads do not go together
  // or are too large.
  void build(const kv::AttentionPlan& plan, int64_t query_heads, const AttentionParams& params,
             const Context& context, RowResults results = RowResults::kFinished);
  // The same with parts as `cuts` says, and no tasks: how they are made of parts is the device's.
  void cut(const kv::AttentionPlan& plan, int64_t query_heads, const AttentionParams& params,
           const ItemCuts& cuts, RowResults results = RowResults::kFinished);
};

}  // namespace reprise::kernels
