// Keys and values of a sequence's tokens, copied out of a cache and back to other places in it.
#pragma once

#include <cstdint>
#include <span>

#include "core/device/context.h"
#include "core/kv/plan.h"
#include "core/kv/segment_buffer.h"

namespace reprise::kv {

// Tokens of a sequence that lie side by side in one block.
struct TokenRun {
  int32_t first_token = 0;  // of the sequence
  int32_t tokens = 0;
  int64_t offset = 0;  // of the first one's key and value, layer 0, head 0: elements of the cache
  // Whoever names the run knows that the states are there, whoever computed them.
  bool is_computed = false;
};

// Copies tokens that lie side by side, all layers and heads, from one cache of a device to another
// one of it, in the order of its work. Offsets are those of the first token's key and value, layer
// 0, head 0, in elements. Both caches have the same kv_heads, head_dim and dtype (CHECK).
void copy_tokens(const CacheView& from, int64_t from_offset, const CacheView& to, int64_t to_offset,
                 int32_t tokens, int64_t layers, DeviceRuntime& runtime);

// The states of all runs, token first_token - runs[0].first_token of the buffer for the first one
// of each. The runs follow one another without a gap; there is one at least. All layers and heads,
// bit for bit. Throws Error where the memory is not there. A cache on a device is read by way of a
// copy there; `context` then has its runtime.
[[nodiscard]] SegmentBuffer copy_out(const CacheView& cache, int64_t layers,
                                     std::span<const TokenRun> runs, const Context& context);

// Writes the states of each run's tokens to where it lies. The buffer begins with token
// `first_token` of the sequence and holds those of every run (CHECK).
void copy_back(const SegmentBuffer& states, int32_t first_token, std::span<const TokenRun> runs,
               const CacheView& cache, const Context& context);

}  // namespace reprise::kv
