// How large an engine's cache is: by the method's need, a number of blocks, or a budget of bytes.
#pragma once

#include "core/engine/engine.h"
#include "core/kv/block_pool.h"
#include "core/reuse/reuse_method.h"

namespace reprise::engine {

// `need` is the method's for options.limits. As many blocks as options.num_blocks asks for, or else
// as fit into options.kv_budget_bytes, or else as are needed; never more than fit into a budget.
// Throws Error, with the bytes that it takes, for a budget in which the longest sequence that the
// limits allow does not fit with the prefixes that will be declared.
[[nodiscard]] kv::BlockPoolOptions pool_options(const reuse::ReuseMethod& method,
                                                const reuse::PoolNeed& need,
                                                const StepExecutor& executor,
                                                const EngineOptions& options);

}  // namespace reprise::engine
