// Attention maps (matrices of softmax weights): computes them so that they can be observed, kept or
// shared, and applies them to values. A layer that applies a map needs no queries and keys.
// [AttnCache: a stored map replaces softmax(q k^T); LazyFormer: layers share one]
#pragma once

#include <cstdint>
#include <span>

#include "core/kernels/attention/attention.h"

namespace reprise::kernels {

// Number of keys of a row. Key k of a row is the k-th token of the segments that the row's items
// read, item after item. So k does not depend on how a method lays out its KV cache, as long as the
// items read the row's tokens in their order.
int64_t keys_of(const kv::AttentionPlan& plan, int64_t row);
int64_t most_keys(const kv::AttentionPlan& plan);  // largest number of keys of a row

// A view of softmax weights. The weight of (head, row, key) is element head * head_stride + row *
// row_stride + key.
struct MapView {
  const void* data = nullptr;
  DType dtype = DType::kF32;  // f32 or bf16; ignored with row_scales
  int64_t heads = 0, rows = 0, keys = 0;
  int64_t head_stride = 0, row_stride = 0;
  // If not null, data are bytes, and a weight is its byte times the row's scale at head *
  // scale_head_stride + row.
  const float* row_scales = nullptr;
  int64_t scale_head_stride = 0;
  // The device on which data and row_scales lie.
  Device device = Device::kCpu;
};
MapView contiguous_map(const void* data, DType dtype, int64_t heads, int64_t rows, int64_t keys);

// A map for rows [first_row, first_row + map.rows) of a step.
struct RowMap {
  int32_t first_row = 0;
  MapView map;
};

// map[h, r, k] = softmax over k of scale * <q_rh, key_k> + ALiBi + bias[h, r, k], and 0 if row r
// does not see key k or has no key k (because other rows have more keys).
//   bias  [heads, rows, keys] f32, or null: such as the terms of disentangled attention
//   map   [heads, rows, keys] f32, keys = most_keys(plan)
// Computed in f32. Use it for maps that are observed, kept or shared, and for scores with a bias;
// otherwise kernels::attention() is faster. Rows of a prompt are computed as matrix products. On a
// device other than the CPU, pointers are device addresses, and queries are rounded to the cache's
// dtype; throws Error for f32 caches, and ShapeError for head sizes that are not compiled.
void attention_map(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                   const AttentionParams& params, const float* bias, float* map,
                   const Context& context);

// out[r, h] = sum over the keys k that row r sees of map[h, r, k] * v_k, where v_k is the value of
// kv head h / (heads / kv_heads) in the cache. Keys that a causal mask hides are left out, even if
// their weight in the map is not 0. `maps` cover the rows of the plan once, in order. Throws
// ShapeError if a map does not have `heads` heads, or has fewer keys than one of its rows sees.
// Sums are f32. A device other than the CPU rounds weights to the cache's dtype, throws what
// attention_map() throws, and accepts maps in its own memory as well as maps on the CPU, which it
// copies.
void apply_map(const kv::AttentionPlan& plan, int64_t layer, std::span<const RowMap> maps,
               int64_t heads, const OutputView& out, const Context& context);

}  // namespace reprise::kernels
