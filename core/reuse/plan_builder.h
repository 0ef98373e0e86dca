// Pieces of a plan that methods share: rows of a sequence, and causal reading of a run of its
// tokens.
#pragma once

#include <cstdint>

#include "core/kv/plan.h"
#include "core/reuse/reuse_method.h"

namespace reprise::reuse {

// Appends the sequence's query rows with positions and lengths; slot_of(token) says where each
// token's key and value go.
template <typename SlotOf>
void append_rows(const StepSequence& sequence, kv::AttentionPlan& plan, SlotOf&& slot_of) {
  int32_t length = 0;
  for (int32_t position : sequence.positions) length = position >= length ? position + 1 : length;
  for (int32_t row = 0; row < sequence.rows; ++row) {
    const int32_t token = sequence.first_token + row;
    plan.row_positions.push_back(sequence.positions[static_cast<size_t>(token)]);
    plan.row_lengths.push_back(length);
    plan.row_slots.push_back(slot_of(token));
  }
}

// Appends segments and items by which the sequence's rows read its tokens causally, out of one
// block that holds the whole sequence (token t at `block_offset` + t * head_dim). Tokens at
// consecutive positions form one segment.
void append_contiguous_reads(const StepSequence& sequence, int64_t block_offset,
                             kv::AttentionPlan& plan);

}  // namespace reprise::reuse
