// Stores new keys and values into a KV cache.
#pragma once

#include <cstdint>

#include "core/device/context.h"
#include "core/kv/plan.h"

namespace reprise::kernels {

// Writes row r's key and value of every kv head to plan.row_slots[r] of cache 0's `layer`,
// converted to the cache's dtype. A row whose slot is kv::kNoSlot is not stored.
//   keys, values  row r at data + r * row_stride, [kv_heads, head_dim] f32. keys may be null: then
//                 only values are written, for a layer that reuses its attention map
void write_kv(const kv::AttentionPlan& plan, int64_t layer, const float* keys, const float* values,
              int64_t row_stride, const Context& context);

}  // namespace reprise::kernels
