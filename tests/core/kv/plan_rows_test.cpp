// Tests cutting a plan down to some of a step's rows.
#include "core/kv/plan_rows.h"

#include <gtest/gtest.h>

namespace reprise::kv {
namespace {

// Five rows: three read segment 0 causally, after two cached tokens; the other two read segment 1.
AttentionPlan two_sequences() {
  AttentionPlan plan;
  plan.begin({.kv_heads = 1, .head_dim = 8});
  (void)plan.add_segment({.block_tokens = 5, .tokens = 5}, std::vector<int64_t>{0});
  (void)plan.add_segment({.block_tokens = 2, .tokens = 2}, std::vector<int64_t>{40});
  (void)plan.add_item(
      {.segment = 0, .first_row = 0, .end_row = 3, .mask = Mask::kCausal, .visible = 3});
  (void)plan.add_item({.segment = 1, .first_row = 3, .end_row = 5});
  for (int32_t row = 0; row < 5; ++row) {
    plan.row_positions.push_back(10 + row);
    plan.row_lengths.push_back(20 + row);
    plan.row_slots.push_back(30 + row);
  }
  plan.finish();
  return plan;
}

TEST(CutToRows, ItemsAreCutAndNumberedFromTheFirstRow) {
  const AttentionPlan part = cut_to_rows(two_sequences(), 1, 4);
  ASSERT_EQ(part.items.size(), 2u);
  EXPECT_EQ(part.items[0].first_row, 0);
  EXPECT_EQ(part.items[0].end_row, 2);
  EXPECT_EQ(part.items[0].visible, 4);  // row 1 sees a token more than row 0
  EXPECT_EQ(part.items[1].first_row, 2);
  EXPECT_EQ(part.items[1].end_row, 3);
  EXPECT_EQ(part.items[1].segment, 1);
  EXPECT_EQ(part.row_positions, (std::vector<int32_t>{11, 12, 13}));
  EXPECT_EQ(part.row_lengths, (std::vector<int32_t>{21, 22, 23}));
  EXPECT_EQ(part.row_slots, (std::vector<int64_t>{31, 32, 33}));
  EXPECT_EQ(part.row_begin.size(), 4u);
}

TEST(CutToRows, ItemsOfOtherRowsAreLeftOut) {
  const AttentionPlan part = cut_to_rows(two_sequences(), 3, 5);
  ASSERT_EQ(part.items.size(), 1u);
  EXPECT_EQ(part.items[0].segment, 1);
  EXPECT_EQ(cut_to_rows(two_sequences(), 2, 2).rows(), 0);
  EXPECT_EQ(cut_to_rows(two_sequences(), 0, 5).items.size(), 2u);
}

}  // namespace
}  // namespace reprise::kv
