#include "core/reuse/plan_builder.h"

#include <algorithm>

namespace reprise::reuse {

void write_plan(SequenceCache& method, std::span<PlanContributor* const> contributors,
                StepBatch batch, const kv::BlockPool& pool, kv::AttentionPlan& plan) {
  const bool goes_on = std::all_of(contributors.begin(), contributors.end(),
                                   [&](const PlanContributor* c) { return c->goes_on(batch); });
  if (goes_on && method.advance(batch, pool, plan)) return;
  plan.begin(pool.view());
  for (const StepSequence& sequence : batch) append_rows(sequence, plan);
  method.plan(batch, pool, plan);
  const uint64_t revision = plan.revision;
  for (PlanContributor* contributor : contributors) contributor->append(batch, plan);
  plan.finish();
  plan.revision = revision;
}

void append_rows(const StepSequence& sequence, kv::AttentionPlan& plan) {
  const auto first = sequence.positions.begin() + sequence.first_token;
  const auto rows = static_cast<size_t>(sequence.rows);
  plan.row_positions.insert(plan.row_positions.end(), first, first + sequence.rows);
  plan.row_lengths.resize(plan.row_lengths.size() + rows, sequence.length);
  plan.row_slots.resize(plan.row_slots.size() + rows, kv::kNoSlot);
}

void append_contiguous_reads(const StepSequence& sequence, int64_t block_offset,
                             kv::AttentionPlan& plan) {
  const std::span<const int32_t> positions = sequence.positions;
  const int32_t end_token = sequence.first_token + sequence.rows;
  for (int32_t first = 0; first < end_token;) {
    int32_t end = sequence.is_consecutive ? end_token : first + 1;
    while (end < end_token &&
           positions[static_cast<size_t>(end)] == positions[static_cast<size_t>(end) - 1] + 1)
      ++end;
    // Rows of tokens from `first` on read the run [first, end). Rows of tokens inside the run read
    // it causally.
    const int32_t reader = std::max(first, sequence.first_token);
    const bool inside = reader < end - 1;
    plan.items.push_back({.segment = static_cast<int32_t>(plan.segments.size()),
                          .first_row = sequence.first_row + reader - sequence.first_token,
                          .end_row = sequence.first_row + sequence.rows,
                          .mask = inside ? kv::Mask::kCausal : kv::Mask::kNone,
                          .visible = inside ? reader - first + 1 : 0});
    plan.segments.push_back({.first_block = static_cast<int32_t>(plan.block_offsets.size()),
                             .block_tokens = end - first,
                             .tokens = end - first,
                             .first_position = positions[static_cast<size_t>(first)]});
    plan.block_offsets.push_back(block_offset + static_cast<int64_t>(first) * plan.head_dim());
    first = end;
  }
}

}  // namespace reprise::reuse
