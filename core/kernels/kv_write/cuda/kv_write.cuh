// Stores new keys and values into a KV cache on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/kernels/rotary/rotary.h"
#include "core/kv/plan.h"

namespace reprise::kernels::cuda {

// kernels::write_kv() with device pointers.
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

// Rotates queries and keys, then does what write_kv() does. The heads of `rotary` are the queries'
// and then the keys', which follow them in a row, so write.keys = rotary.data + (heads - kv_heads)
// * head_dim. If all of it can be read four elements at a time, one kernel does both and leaves the
// keys in the rows unrotated.
void rotate_and_write_kv(const RotaryCall& rotary, const KvWrite& write, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
