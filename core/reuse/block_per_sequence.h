// Caches that keep each sequence in one private block, large enough for the whole sequence.
#pragma once

#include <unordered_map>

#include "core/reuse/sequence_cache.h"

namespace reprise::reuse {

// Builds the plan of a contiguous KV cache. A derived class determines how many tokens the cache
// keeps between steps.
class BlockPerSequence : public SequenceCache, public Relocatable {
 public:
  [[nodiscard]] PoolNeed pool_need(const EngineLimits& limits) const override;
  Admission admit(const NewSequence& sequence, kv::BlockPool& pool) override;
  void retire(RequestId id, kv::BlockPool& pool) override;
  [[nodiscard]] int32_t held_blocks(RequestId) const override { return 1; }
  [[nodiscard]] Relocatable* relocatable() override { return this; }
  void locate(RequestId id, int32_t first_token, int32_t end_token, const kv::BlockPool& pool,
              std::vector<kv::TokenRun>& runs) const override;
  void plan(StepBatch batch, const kv::BlockPool& pool, kv::AttentionPlan& plan) override;
  void report(const MetricSink& sink) const override;

 private:
  std::unordered_map<RequestId, int32_t> block_of_;
};

// The plain KV cache, which keeps every token.
class ContiguousCache final : public BlockPerSequence {
 public:
  [[nodiscard]] int32_t cached_tokens(RequestId, int32_t tokens) const override { return tokens; }
};

}  // namespace reprise::reuse
