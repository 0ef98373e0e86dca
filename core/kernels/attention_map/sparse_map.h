// Attention maps of which each row keeps a few weights, applied without the others. Beyond the
// AttnCache paper, whose maps are whole.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/dtype.h"
#include "core/kernels/attention/attention.h"

namespace reprise::kernels {

// `entries` weights of each (head, row), and the keys that they belong to, numbered as
// kernels::attention_map says. Of a row's entries the keys ascend; those with weight 0 may be
// anything, and count for nothing.
struct SparseMapView {
  const uint16_t* keys = nullptr;  // of (head, row, i) at head * head_stride + row * entries + i
  const bf16* weights = nullptr;   // likewise
  int64_t heads = 0, rows = 0, entries = 0;
  int64_t head_stride = 0;  // in entries
};

// A map for rows [first_row, first_row + map.rows) of a step.
struct SparseRowMap {
  int32_t first_row = 0;
  SparseMapView map;
};

// out[r, h] = sum over the entries of row r of weight * v_key, as kernels::apply_map defines it for
// whole maps. Keys that the row does not see are left out, whatever the map says. `maps` cover the
// rows of the plan once, in order (CHECK). Throws ShapeError where a map has other heads than out,
// Error where the plan's caches are of several dtypes. Sums are f32.
void apply_sparse_map(const kv::AttentionPlan& plan, int64_t layer,
                      std::span<const SparseRowMap> maps, int64_t heads, const OutputView& out,
                      const Context& context);

}  // namespace reprise::kernels
