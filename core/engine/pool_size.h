// Chooses the size of an engine's cache from the method's need, a number of blocks, or a byte
// budget.
#pragma once

#include "core/engine/engine.h"
#include "core/kv/block_pool.h"
#include "core/reuse/sequence_cache.h"

namespace reprise::engine {

// `need` is the method's need for options.limits. The pool has options.num_blocks blocks, but no
// more than fit into a budget. If num_blocks is 0, it has as many as fit into
// options.kv_budget_bytes, or without a budget need.num_blocks. Throws Error, with the bytes
// needed, if the longest sequence of the limits and the declared prefixes do not fit into the
// budget together. Also throws Error if it would have more blocks than a pool can have.
[[nodiscard]] kv::BlockPoolOptions pool_options(const reuse::SequenceCache& cache,
                                                const reuse::PoolNeed& need,
                                                const StepExecutor& executor,
                                                const EngineOptions& options);

}  // namespace reprise::engine
