// The attention plan: which cached keys and values each query row reads, as plain arrays.
//
// Several contributors may build one plan. The owner of the step calls begin() with the cache of
// the step's tokens and appends the rows. The method then sets the row slots, `reduction` and
// `revision`. It and the contributors append caches, segments and items, and change nothing else.
// At the end, the owner calls finish().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/dtype.h"
#include "core/device/device.h"

namespace reprise::kv {

// The memory of some blocks' keys and values: a block pool, or a segment kept apart (such as a
// mapped file). Kernels write to a plan's first cache only, so the others may be read-only. In a
// block, the tokens of one layer and kv head follow one another: (layer l, head h, token t,
// dimension c) is at
//   block_offset + l * layer_stride + h * head_stride + t * head_dim + c
// in elements, for keys and for values.
struct CacheView {
  void* keys = nullptr;
  void* values = nullptr;
  DType dtype = DType::kF32;
  Device device = Device::kCpu;
  int64_t layer_stride = 0;
  int64_t head_stride = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
};

// A run of cached tokens at consecutive positions, in one or several blocks of one cache. With i =
// skipped + t, token t of the segment is token i % block_tokens of the block whose offset is
// block_offsets[first_block + i / block_tokens]. A contiguous cache is one block. The first
// `skipped` tokens of the first block are not part of the segment. They may lie outside the cache's
// memory, so the block's offset may be negative.
struct Segment {
  int32_t cache = 0;  // index in AttentionPlan::caches; block offsets are relative to that cache
  int32_t first_block = 0;
  int32_t block_tokens = 0;    // > 0
  int32_t skipped = 0;         // >= 0
  int32_t tokens = 0;          // number of tokens, all filled
  int32_t first_position = 0;  // position of token 0, for ALiBi and sliding windows
};

enum class Mask : uint8_t {
  kNone,   // each row sees every token of the segment
  kCausal  // row r sees the first `visible + (r - first_row)` tokens, or all if the segment has
           // fewer
};

// One attention task: a contiguous range of query rows reads one segment.
struct WorkItem {
  int32_t segment = 0;
  int32_t first_row = 0;
  int32_t end_row = 0;
  Mask mask = Mask::kNone;
  int32_t visible = 0;  // for kCausal: number of the segment's tokens that first_row sees
};

// Row slot of a row whose key and value are not stored, either because the token is already in the
// cache or because no later row reads it.
inline constexpr int64_t kNoSlot = -1;

// How the partial results of a row's work items become one result.
enum class Reduction : uint8_t {
  // Partial results are stored, then merged in the order of their segments' positions.
  kMerge,
  // Each partial result is merged into the row's running result as soon as it is computed, under a
  // lock. Only on the CPU. Work items end in any order, so with several threads the last bits may
  // differ from run to run.
  // [ChunkAttention §3.3]
  kDirect
};

// Lists the keys and values that the query rows of one step read. It is written once per step and
// read by the kernels in every layer. Covers each (row, key) pair once. The step's own keys and
// values are written to cache 0, at `row_slots`, before attention reads them.
struct AttentionPlan {
  // All have the same kv_heads, head_dim and device; dtypes and strides may differ.
  std::vector<CacheView> caches;
  std::vector<int64_t> block_offsets;  // [sum of the segments' blocks]  in elements, see CacheView
  std::vector<Segment> segments;
  std::vector<WorkItem> items;
  // [rows]  the query row's position
  std::vector<int32_t> row_positions;
  // [rows]  the largest known position + 1 of the row's sequence, for dynamic rotary scaling
  std::vector<int32_t> row_lengths;
  // [rows]  element offset of the row's key and value in cache 0, layer 0, head 0; or kNoSlot
  std::vector<int64_t> row_slots;

  // Filled in by finish(): row r is covered by the work items row_items[row_begin[r] .. row_begin[r
  // + 1]), which ascend.
  std::vector<int32_t> row_begin;  // [rows + 1]
  std::vector<int32_t> row_items;

  Reduction reduction = Reduction::kMerge;

  // Number that the method gives to a plan that it built; 0: the plan cannot be advanced. By this
  // number the method recognizes its last plan and advances it instead of building a new one. The
  // add functions reset it to 0, because the method does not know what others add. write_plan()
  // (core/reuse/plan_builder.h) restores it after contributors have added theirs, since it asks
  // them whether the last plan still serves.
  uint64_t revision = 0;

  [[nodiscard]] int32_t rows() const { return static_cast<int32_t>(row_positions.size()); }
  // KV heads and head size, which all caches share; 0 if there is no cache.
  [[nodiscard]] int64_t kv_heads() const { return caches.empty() ? 0 : caches[0].kv_heads; }
  [[nodiscard]] int64_t head_dim() const { return caches.empty() ? 0 : caches[0].head_dim; }
  [[nodiscard]] const Segment& segment_of(const WorkItem& item) const {
    return segments[static_cast<size_t>(item.segment)];
  }
  [[nodiscard]] const CacheView& cache_of(const Segment& segment) const {
    return caches[static_cast<size_t>(segment.cache)];
  }

  // Empties all lists; their memory stays allocated.
  void clear();
  // Calls clear() and adds `own` as cache 0, to which the step's keys and values are written.
  void begin(const CacheView& own);
  // Appends a cache. Throws Error if it is on another device than cache 0. The three add functions
  // return the index of what they append.
  int32_t add_cache(const CacheView& cache);
  // Appends a segment and sets its first_block. `blocks` holds the element offsets of its blocks in
  // its cache.
  int32_t add_segment(Segment segment, std::span<const int64_t> blocks);
  int32_t add_item(const WorkItem& item);
  // Builds row_begin and row_items. CHECKs that ranges, blocks, row slots and caches are
  // consistent.
  void finish();
};

}  // namespace reprise::kv
