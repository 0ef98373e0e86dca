// Stores new keys and values into a KV cache on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/kernels/rotary/rotary.h"
#include "core/kv/plan.h"

namespace reprise::kernels::cuda {

// Arguments of kernels::write_kv(), with device pointers.
struct KvWrite {
  kv::CacheView cache;                 // cache 0 of the plan; f32, bf16 or f16
  const int64_t* row_slots = nullptr;  // [rows]  element offsets in the cache, or kv::kNoSlot
  int64_t rows = 0, layer = 0;
  // Row r starts at keys + r * row_stride, and at values + r * row_stride, and holds
  // [kv_heads, head_dim] f32. If keys is null, only values are written.
  const float* keys = nullptr;
  const float* values = nullptr;
  int64_t row_stride = 0;
};
void write_kv(const KvWrite& write, cudaStream_t stream);

// Rotates queries and keys, then does what write_kv() does. In each row of `rotary`, the heads of
// the keys follow those of the queries, so write.keys = rotary.data + (heads - kv_heads) *
// head_dim. If all arrays can be read four elements at a time, a single kernel rotates and writes;
// it leaves the keys in the rows of `rotary` unrotated.
void rotate_and_write_kv(const RotaryCall& rotary, const KvWrite& write, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
