// Attention maps as values: computed to be observed, kept or shared, and applied in place of
// queries and keys. [AttnCache: a stored map replaces softmax(q k^T); LazyFormer shares one]
#pragma once

#include <cstdint>
#include <span>

#include "core/kernels/attention/attention.h"

namespace reprise::kernels {

// Number of keys of a row. Key k of a row is the k-th token of the segments that its items read,
// item after item. So k does not depend on how a method lays out its cache, as long as a row's
// tokens are read in their order.
int64_t keys_of(const kv::AttentionPlan& plan, int64_t row);
int64_t most_keys(const kv::AttentionPlan& plan);  // largest number of keys of a row

// A view of softmax weights; (head, row, key) is at head * head_stride + row * row_stride + key, in
// elements.
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

// map[h, r, k] = softmax over k of  scale * <q_rh, key_k> + ALiBi + bias[h, r, k],  and 0 if the
// row does not see the key or has no such key.
//   bias  [heads, rows, keys] f32, or null: such as the terms of disentangled attention
//   map   [heads, rows, keys] f32, keys = most_keys(plan)
// Computed in f32. Use it for maps that are observed, kept or shared, and for scores with a bias;
// otherwise kernels::attention() is faster. Rows of a prompt are computed as matrix products. On a
// device, pointers are the device's, and queries are rounded to the cache's type; f32 caches throw
// Error, head sizes that are not compiled throw ShapeError.
void attention_map(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                   const AttentionParams& params, const float* bias, float* map,
                   const Context& context);

// out[r, h] = sum over the keys k that row r sees of map[h, r, k] * v_k, where v_k is the value of
// kv head h / (heads / kv_heads) in the cache. Keys beyond a causal mask are left out, whatever the
// map says. `maps` cover the rows of the plan once, in order. Throws ShapeError if a map does not
// have `heads` heads, or has fewer keys than one of its rows sees. Sums are f32; bf16 maps are not
// converted. A device rounds weights to the cache's type, throws as attention_map() does, and
// accepts maps in its own memory and on the CPU, which are copied.
void apply_map(const kv::AttentionPlan& plan, int64_t layer, std::span<const RowMap> maps,
               int64_t heads, const OutputView& out, const Context& context);

}  // namespace reprise::kernels
