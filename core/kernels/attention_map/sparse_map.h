// Attention maps with only a few weights per row, and their application. They go beyond the
// AttnCache paper, whose maps are complete.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/dtype.h"
#include "core/kernels/attention/attention.h"

namespace reprise::kernels {

// `entries` weights for each (head, row), and their keys, numbered as in kernels::attention_map().
// The keys of a row's entries ascend; keys with weight 0 are ignored.
struct SparseMapView {
  const uint16_t* keys = nullptr;  // (head, row, i) is at head * head_stride + row * entries + i
  const bf16* weights = nullptr;   // in the same order
  int64_t heads = 0, rows = 0, entries = 0;
  int64_t head_stride = 0;  // in entries
};

// A map for rows [first_row, first_row + map.rows) of a step.
struct SparseRowMap {
  int32_t first_row = 0;
  SparseMapView map;
};

// out[r, h] = sum over the entries of row r of weight * v_key, as kernels::apply_map() does for
// complete maps. Keys that the row does not see are left out, whatever the map says. `maps` cover
// the rows of the plan once, in order (CHECK). Throws ShapeError if a map has other heads than
// `heads`, Error if the plan's caches have different dtypes. Sums are f32.
void apply_sparse_map(const kv::AttentionPlan& plan, int64_t layer,
                      std::span<const SparseRowMap> maps, int64_t heads, const OutputView& out,
                      const Context& context);

}  // namespace reprise::kernels
