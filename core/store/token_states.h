// Copies the KV states of a sequence's tokens out of a cache, and later back to other places in the
// cache.
#pragma once

#include <cstdint>
#include <span>

#include "core/device/context.h"
#include "core/kv/plan.h"
#include "core/kv/token_run.h"
#include "core/store/segment_buffer.h"

namespace reprise::kv {

// Copies the states of all runs bit for bit, all layers and heads. There is at least one run, and
// each run begins where the one before ends. Token t of the sequence becomes token t -
// runs[0].first_token of the buffer. Throws MemoryError if the buffer does not fit into memory. For
// a cache on a device, `context` must have its runtime.
[[nodiscard]] SegmentBuffer copy_out(const CacheView& cache, int64_t layers,
                                     std::span<const TokenRun> runs, const Context& context);

// Writes the states of each run's tokens to the run's place in the cache. `states` begins with
// token `first_token` of the sequence and must hold the tokens of every run (CHECK).
void copy_back(const SegmentBuffer& states, int32_t first_token, std::span<const TokenRun> runs,
               const CacheView& cache, const Context& context);

}  // namespace reprise::kv
