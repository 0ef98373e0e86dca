// Runs the items of a parallel_for on a team of threads.
#pragma once

#include <cstdint>

namespace reprise::detail {

// Calls fn(state, item, worker) for each item of [0, items), with worker in [0, threads). See
// parallel_for() in core/device/context.h.
void run_parallel(int threads, int64_t items, void* state, void (*fn)(void*, int64_t, int));

}  // namespace reprise::detail
