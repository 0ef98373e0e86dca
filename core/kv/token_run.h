// A run of a sequence's tokens in a cache, and copies of runs from one cache to another.
#pragma once

#include <cstdint>

#include "core/device/device_runtime.h"
#include "core/kv/plan.h"

namespace reprise::kv {

// Consecutive tokens of a sequence that lie side by side in one block.
struct TokenRun {
  int32_t first_token = 0;  // index in the sequence
  int32_t tokens = 0;
  // Element offset of the first token's key and value in the cache, layer 0, head 0.
  int64_t offset = 0;
  // True if the caller knows that the states of these tokens have been computed.
  bool is_computed = false;
};

// Copies `tokens` tokens that lie side by side, all layers and heads, from one cache to another.
// Both caches are on the same device, and the copy runs in order with that device's other work. The
// offsets are element offsets of the first token's key and value, layer 0, head 0. Both caches have
// the same kv_heads, head_dim and dtype (CHECK).
void copy_tokens(const CacheView& from, int64_t from_offset, const CacheView& to, int64_t to_offset,
                 int32_t tokens, int64_t layers, DeviceRuntime& runtime);

}  // namespace reprise::kv
