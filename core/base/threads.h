// Runs the work items of a parallel_for on a team of threads.
#pragma once

#include <cstdint>

namespace reprise::detail {

// Calls fn(state, item, worker) once for each item in [0, items), on several threads. `worker` is
// the thread's number in [0, threads). See parallel_for() in core/device/context.h.
void run_parallel(int threads, int64_t items, void* state, void (*fn)(void*, int64_t, int));

}  // namespace reprise::detail
