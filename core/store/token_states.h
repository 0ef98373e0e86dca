// Keys and values of a sequence's tokens, copied out of a cache and back to other places in it.
#pragma once

#include <cstdint>
#include <span>

#include "core/device/context.h"
#include "core/kv/plan.h"
#include "core/kv/token_run.h"
#include "core/store/segment_buffer.h"

namespace reprise::kv {

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
