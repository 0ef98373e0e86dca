// Copies the KV states of a sequence's tokens out of a cache and back to other places in it.
#pragma once

#include <cstdint>
#include <span>

#include "core/device/context.h"
#include "core/kv/plan.h"
#include "core/kv/segment_buffer.h"

namespace reprise::kv {

// Consecutive tokens of a sequence that lie side by side in one block.
struct TokenRun {
  int32_t first_token = 0;  // index in the sequence
  int32_t tokens = 0;
  // element offset of the first token's key and value in the cache, layer 0, head 0
  int64_t offset = 0;
  // True if the caller knows that the states have been computed.
  bool is_computed = false;
};

// Copies tokens that lie side by side, all layers and heads, between two caches of one device, in
// the order of its work. Offsets are element offsets of the first token's key and value, layer 0,
// head 0. Both caches have the same kv_heads, head_dim and dtype (CHECK).
void copy_tokens(const CacheView& from, int64_t from_offset, const CacheView& to, int64_t to_offset,
                 int32_t tokens, int64_t layers, DeviceRuntime& runtime);

// Copies the states of all runs bit for bit, all layers and heads. There is at least one run, and
// they follow one another without a gap; token t of the sequence becomes token t -
// runs[0].first_token. Throws MemoryError if the memory does not fit. For a cache on a device,
// `context` has its runtime.
[[nodiscard]] SegmentBuffer copy_out(const CacheView& cache, int64_t layers,
                                     std::span<const TokenRun> runs, const Context& context);

// Writes the states of each run's tokens to the run's place. `states` begins with token
// `first_token` of the sequence and holds the tokens of every run (CHECK).
void copy_back(const SegmentBuffer& states, int32_t first_token, std::span<const TokenRun> runs,
               const CacheView& cache, const Context& context);

}  // namespace reprise::kv
