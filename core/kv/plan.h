// The attention plan: which cached keys and values each query row reads, as plain arrays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/dtype.h"
#include "core/device/device.h"

namespace reprise::kv {

// Where keys and values of some blocks live: a block pool, or a segment computed once and kept
// apart (a mapped file). The kernels write to a plan's first cache alone, so the memory of the
// others may be read-only. Within a block, for each layer and kv head the tokens follow one
// another: element (layer l, head h, token t, dimension c) of a block is at
//   block_offset + l * layer_stride + h * head_stride + t * head_dim + c        (in elements, for
//   keys and for values)
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

// A run of cached tokens at consecutive positions, in one or several blocks of one cache. With
// i = skipped + t, token t is token i % block_tokens of block
// block_offsets[first_block + i / block_tokens]; a contiguous cache is a segment of one block. The
// first tokens of the first block may be skipped: they need not exist, so its offset may lie before
// the cache.
struct Segment {
  int32_t cache = 0;  // index in AttentionPlan::caches, which the block offsets are relative to
  int32_t first_block = 0;
  int32_t block_tokens = 0;    // > 0
  int32_t skipped = 0;         // >= 0
  int32_t tokens = 0;          // [0, tokens) are filled
  int32_t first_position = 0;  // token t stands at first_position + t: ALiBi, sliding windows
};

enum class Mask : uint8_t {
  kNone,   // each row sees every token of the segment
  kCausal  // row r sees the first `visible + (r - first_row)` tokens, at most all
};

// One contiguous range of query rows reads one segment.
struct WorkItem {
  int32_t segment = 0;
  int32_t first_row = 0;
  int32_t end_row = 0;
  Mask mask = Mask::kNone;
  int32_t visible = 0;  // kCausal: tokens that first_row sees
};

// A row whose key and value are not stored: its token is in the cache already, or nobody will read
// it.
inline constexpr int64_t kNoSlot = -1;

// Written for each step, read by the kernels for each layer. A plan covers each (row, key) pair
// once; the keys of the step's own tokens are in cache 0 before attention reads them (`row_slots`
// says where they go).
//
// Several may contribute to one plan. Who drives the step begins the plan with the cache of the
// step's own tokens, appends the rows and calls finish(); contributors append caches, block
// offsets, segments and items, and touch nothing that was there before. finish() may be called
// again after further contributions.
struct AttentionPlan {
  // Dtypes and strides may differ from cache to cache; kv_heads, head_dim and device agree.
  std::vector<CacheView> caches;
  std::vector<int64_t> block_offsets;  // [sum of blocks]  elements, see CacheView
  std::vector<Segment> segments;
  std::vector<WorkItem> items;
  // [rows]  position of each query row
  std::vector<int32_t> row_positions;
  // [rows]  largest position + 1 of the row's sequence, as far as known: dynamic rotary scaling
  // needs it
  std::vector<int32_t> row_lengths;
  // [rows]  element offset of the row's own key and value in cache 0 (layer 0, head 0), or kNoSlot
  std::vector<int64_t> row_slots;

  // Filled by finish(): the items that cover row r are row_items[row_begin[r] .. row_begin[r + 1]),
  // in item order.
  std::vector<int32_t> row_begin;  // [rows + 1]
  std::vector<int32_t> row_items;

  // Which build this is, for a method that advances its plan instead of writing it anew; 0: none.
  // The add functions reset it: a plan with another's contributions is not one method's to advance.
  uint64_t revision = 0;

  [[nodiscard]] int32_t rows() const { return static_cast<int32_t>(row_positions.size()); }
  // Of every cache; 0 where there is none.
  [[nodiscard]] int64_t kv_heads() const { return caches.empty() ? 0 : caches[0].kv_heads; }
  [[nodiscard]] int64_t head_dim() const { return caches.empty() ? 0 : caches[0].head_dim; }
  [[nodiscard]] const Segment& segment_of(const WorkItem& item) const {
    return segments[static_cast<size_t>(item.segment)];
  }
  [[nodiscard]] const CacheView& cache_of(const Segment& segment) const {
    return caches[static_cast<size_t>(segment.cache)];
  }

  // Empties every list, keeps their memory.
  void clear();
  // clear(), and `own` is cache 0, which the step's rows are written to.
  void begin(const CacheView& own);
  // Each returns the index of what it appended. Throws Error for a cache on another device than the
  // first.
  int32_t add_cache(const CacheView& cache);
  // `blocks` are the element offsets of the segment's blocks in its cache; first_block is filled
  // in.
  int32_t add_segment(Segment segment, std::span<const int64_t> blocks);
  int32_t add_item(const WorkItem& item);
  // Builds the row index and checks that ranges, blocks, slots and caches are consistent (a mistake
  // is ours: CHECK).
  void finish();
};

}  // namespace reprise::kv
