// Attention maps as values: computed to be looked at, kept or shared, and applied where they stand
// for queries and keys. [AttnCache: a stored map replaces softmax(q k^T); LazyFormer shares one]
#pragma once

#include <cstdint>
#include <span>

#include "core/kernels/attention/attention.h"

namespace reprise::kernels {

// Key k of row r is the k-th token of the segments that the row's items read, one item after the
// other: a number that means the same whichever way a method lays out its cache, as long as it
// reads a row's tokens in their order.
int64_t keys_of(const kv::AttentionPlan& plan, int64_t row);
int64_t most_keys(const kv::AttentionPlan& plan);  // of any row

// Softmax weights: of (head, row, key) at head * head_stride + row * row_stride + key, in elements.
struct MapView {
  const void* data = nullptr;
  DType dtype = DType::kF32;  // f32 or bf16; counts for nothing where there are row_scales
  int64_t heads = 0, rows = 0, keys = 0;
  int64_t head_stride = 0, row_stride = 0;
  // Not null: data are bytes, and a weight is its byte times the scale of its row, which stands at
  // head * scale_head_stride + row.
  const float* row_scales = nullptr;
  int64_t scale_head_stride = 0;
  // Of what is not the CPU's, data and scales are that device's.
  Device device = Device::kCpu;
};
MapView contiguous_map(const void* data, DType dtype, int64_t heads, int64_t rows, int64_t keys);

// A map for rows [first_row, first_row + map.rows) of a step.
struct RowMap {
  int32_t first_row = 0;
  MapView map;
};

// map[h, r, k] = softmax over k of  scale * <q_rh, key_k> + ALiBi + bias[h, r, k],  0 where the row
// does not see the key or has none.
//   bias  [heads, rows, keys] f32, or null: e.g. the terms of disentangled attention
//   map   [heads, rows, keys] f32, keys = most_keys(plan)
// In f32: a path for capturing, sharing and models whose scores have terms of their own. Rows of a
// prompt become products of matrices; kernels::attention() is faster still. On a device, pointers
// are the device's, queries are rounded to the cache's type, and f32 caches and head sizes that are
// not compiled throw Error and ShapeError.
void attention_map(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                   const AttentionParams& params, const float* bias, float* map,
                   const Context& context);

// out[r, h] = sum over the keys k that row r sees of map[h, r, k] * v_k, the values of kv head
// h / (heads / kv_heads) in the cache. Keys past a causal mask are left out, whatever the map says.
// `maps` cover the rows of the plan once, in order. Throws ShapeError where a map has other heads
// than out, or fewer keys than a row of it sees. Sums are f32; bf16 maps are taken as they are. A
// device rounds weights to the cache's type, refuses what attention_map() does, and takes maps of
// the CPU, which are copied there, as well as its own.
void apply_map(const kv::AttentionPlan& plan, int64_t layer, std::span<const RowMap> maps,
               int64_t heads, const OutputView& out, const Context& context);

}  // namespace reprise::kernels
