// The one way to fork: items handed out to a team of threads.
#pragma once

#include <cstdint>

namespace reprise::detail {

// fn(state, item, worker) for each item of [0, items), worker in [0, threads); see parallel_for in
// core/device/context.h.
void run_parallel(int threads, int64_t items, void* state, void (*fn)(void*, int64_t, int));

}  // namespace reprise::detail
