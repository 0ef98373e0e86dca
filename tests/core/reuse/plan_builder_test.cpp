#include "core/reuse/plan_builder.h"

#include <gtest/gtest.h>

#include <random>

namespace reprise::reuse {
namespace {

// For each token, the number of items through which the plan lets a row read it.
std::vector<int> seen_by(const kv::AttentionPlan& plan, int32_t row, int32_t tokens) {
  std::vector<int> seen(static_cast<size_t>(tokens));
  for (const kv::WorkItem& item : plan.items) {
    if (row < item.first_row || row >= item.end_row) continue;
    const kv::Segment& segment = plan.segments[static_cast<size_t>(item.segment)];
    const int64_t first = plan.block_offsets[static_cast<size_t>(segment.first_block)];
    for (int32_t t = 0; t < segment.tokens; ++t)
      if (item.mask == kv::Mask::kNone || t < item.visible + row - item.first_row)
        ++seen[static_cast<size_t>(first + t)];  // head_dim 1: offset = token
  }
  return seen;
}

// For any positions and any cut into steps, a row sees every token up to its own exactly once, and
// each segment's tokens have consecutive positions.
TEST(PlanBuilder, RowsSeeEveryTokenUpToTheirOwnExactlyOnce) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto pick = [&](int32_t low, int32_t high) {
      return std::uniform_int_distribution<int32_t>(low, high)(random);
    };
    const int32_t tokens = pick(1, 30);
    std::vector<int32_t> positions = {pick(0, 50)};
    while (static_cast<int32_t>(positions.size()) < tokens)
      positions.push_back(pick(0, 3) == 0 ? pick(0, 60) : positions.back() + 1);
    const int32_t first_token = pick(0, tokens - 1), rows = pick(1, tokens - first_token);
    const StepSequence sequence{
        .id = 1,
        .first_row = 0,
        .rows = rows,
        .first_token = first_token,
        .positions = positions,
        .length = *std::max_element(positions.begin(), positions.end()) + 1};
    kv::AttentionPlan plan;
    plan.caches = {{.head_dim = 1}};
    append_rows(sequence, plan);
    append_contiguous_reads(sequence, 0, plan);
    plan.finish();
    for (int32_t row = 0; row < rows; ++row) {
      std::vector<int> want(static_cast<size_t>(tokens), 0);
      std::fill_n(want.begin(), first_token + row + 1, 1);
      EXPECT_EQ(seen_by(plan, row, tokens), want) << "row " << row;
      EXPECT_EQ(plan.row_positions[static_cast<size_t>(row)],
                positions[static_cast<size_t>(first_token + row)]);
      EXPECT_EQ(plan.row_lengths[static_cast<size_t>(row)],
                *std::max_element(positions.begin(), positions.end()) + 1);
      EXPECT_EQ(plan.row_slots[static_cast<size_t>(row)], kv::kNoSlot);
    }
    for (const kv::Segment& segment : plan.segments) {
      const int64_t first = plan.block_offsets[static_cast<size_t>(segment.first_block)];
      for (int32_t t = 0; t < segment.tokens; ++t)
        EXPECT_EQ(positions[static_cast<size_t>(first + t)], segment.first_position + t);
    }
  }
}

TEST(PlanBuilder, ConsecutivePositionsAreOneSegment) {
  const std::vector<int32_t> positions = {0, 1, 2, 3, 4};
  kv::AttentionPlan plan;
  plan.caches = {{.head_dim = 8}};
  const StepSequence sequence{
      .id = 1, .first_row = 0, .rows = 2, .first_token = 3, .positions = positions};
  append_rows(sequence, plan);
  append_contiguous_reads(sequence, 160, plan);
  plan.finish();
  // If the caller says that positions are consecutive, not all positions are checked.
  kv::AttentionPlan told;
  told.caches = {{.head_dim = 8}};
  StepSequence consecutive = sequence;
  consecutive.is_consecutive = true;
  append_contiguous_reads(consecutive, 160, told);
  ASSERT_EQ(told.items.size(), 1u);
  EXPECT_EQ(told.segments[0].tokens, plan.segments[0].tokens);
  EXPECT_EQ(told.items[0].visible, plan.items[0].visible);
  EXPECT_EQ(told.block_offsets, plan.block_offsets);
  ASSERT_EQ(plan.items.size(), 1u);
  EXPECT_EQ(plan.items[0].mask, kv::Mask::kCausal);
  EXPECT_EQ(plan.items[0].visible, 4);
  EXPECT_EQ(plan.block_offsets, std::vector<int64_t>{160});
}

}  // namespace
}  // namespace reprise::reuse
