#include "core/reuse/block_per_sequence.h"

#include "core/base/error.h"
#include "core/reuse/plan_builder.h"

namespace reprise::reuse {

PoolNeed BlockPerSequence::pool_need(const EngineLimits& limits) const {
  return {.block_tokens = limits.max_sequence_tokens, .num_blocks = limits.max_batch};
}

Admission BlockPerSequence::admit(const NewSequence& sequence, kv::BlockPool& pool) {
  const int32_t block = pool.take();
  if (block < 0) return {};
  if (!block_of_.emplace(sequence.id, block).second) {
    pool.release(block);
    raise("request id {} is in use already", sequence.id);
  }
  return {.admitted = true};
}

void BlockPerSequence::locate(RequestId id, int32_t first_token, int32_t end_token,
                              const kv::BlockPool& pool, std::vector<kv::TokenRun>& runs) const {
  runs.push_back({.first_token = first_token,
                  .tokens = end_token - first_token,
                  .offset = pool.offset_of(block_of_.at(id), first_token)});
}

void BlockPerSequence::plan(StepBatch batch, const kv::BlockPool& pool, kv::AttentionPlan& plan) {
  for (const StepSequence& sequence : batch) {
    const int32_t block = block_of_.at(sequence.id);
    for (int32_t i = 0; i < sequence.rows; ++i)
      plan.row_slots[static_cast<size_t>(sequence.first_row + i)] =
          pool.offset_of(block, sequence.first_token + i);
    append_contiguous_reads(sequence, pool.offset_of(block), plan);
  }
}

void BlockPerSequence::retire(RequestId id, kv::BlockPool& pool) {
  const auto found = block_of_.find(id);
  REPRISE_CHECK(found != block_of_.end(), "request {} was never admitted", id);
  pool.release(found->second);
  block_of_.erase(found);
}

void BlockPerSequence::report(const MetricSink& sink) const {
  sink("reused_tokens", 0.0, "tokens");
}

}  // namespace reprise::reuse
