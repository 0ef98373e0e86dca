// Builds a step's plan from the batch's rows, the method's reads and the contributors' reads.
#pragma once

#include <cstdint>
#include <span>

#include "core/kv/plan.h"
#include "core/reuse/sequence_cache.h"

namespace reprise::reuse {

// Turns `plan`, which holds the last step's plan, into the plan of this step. If the method and all
// contributors can continue the last plan, it is advanced in place. Otherwise the plan is built
// anew in this order: rows with positions and lengths; the method's row slots, segments and work
// items; the contributors' segments and work items.
void write_plan(SequenceCache& method, std::span<PlanContributor* const> contributors,
                StepBatch batch, const kv::BlockPool& pool, kv::AttentionPlan& plan);

// Appends the sequence's query rows with positions and lengths; their row slots are kNoSlot.
void append_rows(const StepSequence& sequence, kv::AttentionPlan& plan);

// Appends segments and work items by which the sequence's rows read all tokens of their sequence
// causally. All these tokens lie in one block of cache 0 (token t at `block_offset` + t *
// head_dim). Tokens at consecutive positions form one segment.
void append_contiguous_reads(const StepSequence& sequence, int64_t block_offset,
                             kv::AttentionPlan& plan);

}  // namespace reprise::reuse
