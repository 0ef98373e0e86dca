#include "core/engine/pool_size.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace reprise::engine {
namespace {

constexpr int64_t kMostBlocks = std::numeric_limits<int32_t>::max();  // BlockPool counts in int32_t

// Returns how many blocks fit into the budget. Throws Error if one sequence of the limits does not
// fit.
int32_t blocks_in_budget(const reuse::SequenceCache& cache, const kv::BlockPoolOptions& pool,
                         const EngineOptions& options) {
  const int64_t block_bytes = kv::block_bytes(pool);
  const int64_t blocks = options.kv_budget_bytes / block_bytes;
  reuse::EngineLimits one = options.limits;
  one.max_batch = 1;
  const int64_t needed = cache.pool_need(one).num_blocks;
  if (blocks < needed)
    raise(
        "kv_budget_bytes is {}, which holds {} blocks of {} tokens: one sequence of "
        "max_sequence_tokens = {}{} takes {} blocks, {} bytes. Give that many at least, or make "
        "the "
        "engine for shorter sequences",
        options.kv_budget_bytes, blocks, pool.block_tokens, one.max_sequence_tokens,
        one.prefix_tokens > 0
            ? fmt::format(" with {} tokens of declared prefixes", one.prefix_tokens)
            : "",
        needed, needed * block_bytes);
  return static_cast<int32_t>(std::min(blocks, kMostBlocks));
}

// Returns the blocks that the method needs. Throws Error if a pool cannot have that many.
int32_t blocks_needed(const reuse::PoolNeed& need, const EngineOptions& options) {
  if (need.num_blocks > kMostBlocks)
    raise(
        "max_batch = {} sequences of max_sequence_tokens = {} need {} blocks of {} tokens, a pool "
        "has at most {}: set kv_budget_bytes or num_blocks, or make the engine for fewer or "
        "shorter sequences",
        options.limits.max_batch, options.limits.max_sequence_tokens, need.num_blocks,
        need.block_tokens, kMostBlocks);
  return static_cast<int32_t>(need.num_blocks);
}

}  // namespace

kv::BlockPoolOptions pool_options(const reuse::SequenceCache& cache, const reuse::PoolNeed& need,
                                  const StepExecutor& executor, const EngineOptions& options) {
  const model::ModelConfig& config = executor.config();
  kv::BlockPoolOptions pool{.layers = config.layers,
                            .kv_heads = config.kv_heads,
                            .head_dim = config.head_dim,
                            .dtype = options.kv_dtype,
                            .block_tokens = need.block_tokens,
                            .num_blocks = options.num_blocks,
                            .has_memory = executor.uses_cache(),
                            .runtime = executor.runtime()};
  if (options.kv_budget_bytes > 0) {
    const int32_t most = blocks_in_budget(cache, pool, options);
    pool.num_blocks = options.num_blocks > 0 ? std::min(options.num_blocks, most) : most;
  } else if (options.num_blocks == 0) {
    pool.num_blocks = blocks_needed(need, options);
  }
  return pool;
}

}  // namespace reprise::engine
