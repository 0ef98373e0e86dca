// A step's plan, put together: the rows, what a method appends, what others contribute.
#pragma once

#include <cstdint>
#include <span>

#include "core/kv/plan.h"
#include "core/reuse/reuse_method.h"

namespace reprise::reuse {

// Brings `plan`, which is reused from step to step, to this step. Where everybody agrees that the
// latest plan goes on it is advanced in place; else it is written anew: the rows with positions and
// lengths, the method's slots, segments and items, then the contributors' in their order.
void write_plan(ReuseMethod& method, std::span<PlanContributor* const> contributors,
                StepBatch batch, const kv::BlockPool& pool, kv::AttentionPlan& plan);

// Appends the sequence's query rows with positions and lengths, for now without slots.
void append_rows(const StepSequence& sequence, kv::AttentionPlan& plan);

// Appends segments and items by which the sequence's rows read its tokens causally, out of one
// block that holds the whole sequence (token t at `block_offset` + t * head_dim). Tokens at
// consecutive positions form one segment.
void append_contiguous_reads(const StepSequence& sequence, int64_t block_offset,
                             kv::AttentionPlan& plan);

}  // namespace reprise::reuse
