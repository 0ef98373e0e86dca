#include "core/kv/plan.h"

#include <gtest/gtest.h>

#include <random>

namespace reprise::kv {
namespace {

AttentionPlan plan_of_rows(int32_t rows) {
  AttentionPlan plan;
  plan.begin({.kv_heads = 2, .head_dim = 8});
  for (int32_t row = 0; row < rows; ++row) {
    plan.row_positions.push_back(row);
    plan.row_lengths.push_back(rows);
    plan.row_slots.push_back(row);
  }
  return plan;
}

TEST(AttentionPlan, RowIndexListsTheItemsOfEachRowInItemOrder) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto pick = [&](int32_t low, int32_t high) {
      return std::uniform_int_distribution<int32_t>(low, high)(random);
    };
    const int32_t rows = pick(1, 30);
    AttentionPlan plan = plan_of_rows(rows);
    plan.segments.push_back({.block_tokens = 1});
    for (int32_t items = pick(0, 20); items > 0; --items) {
      const int32_t first = pick(0, rows - 1);
      plan.items.push_back({.first_row = first, .end_row = pick(first + 1, rows)});
    }
    plan.finish();
    ASSERT_EQ(plan.row_begin.size(), static_cast<size_t>(rows) + 1);
    EXPECT_EQ(plan.row_begin.front(), 0);
    EXPECT_EQ(plan.row_begin.back(), static_cast<int32_t>(plan.row_items.size()));
    for (int32_t row = 0; row < rows; ++row) {
      std::vector<int32_t> want;
      for (size_t i = 0; i < plan.items.size(); ++i)
        if (plan.items[i].first_row <= row && row < plan.items[i].end_row)
          want.push_back(static_cast<int32_t>(i));
      const auto begin = plan.row_items.begin() + plan.row_begin[static_cast<size_t>(row)];
      const auto end = plan.row_items.begin() + plan.row_begin[static_cast<size_t>(row) + 1];
      EXPECT_EQ(std::vector<int32_t>(begin, end), want) << "row " << row;
    }
  }
}

TEST(AttentionPlan, FinishingAgainGivesTheSameIndex) {
  AttentionPlan plan = plan_of_rows(4);
  plan.segments.push_back({.block_tokens = 1});
  plan.items.push_back({.first_row = 1, .end_row = 3});
  plan.finish();
  const auto begin = plan.row_begin, items = plan.row_items;
  plan.finish();
  EXPECT_EQ(plan.row_begin, begin);
  EXPECT_EQ(plan.row_items, items);
}

TEST(AttentionPlan, EmptyPlanHasAnEmptyIndex) {
  AttentionPlan plan;
  plan.finish();
  EXPECT_EQ(plan.rows(), 0);
  EXPECT_EQ(plan.row_begin, std::vector<int32_t>{0});
  EXPECT_TRUE(plan.row_items.empty());
}

TEST(AttentionPlan, ClearEmptiesEveryList) {
  AttentionPlan plan = plan_of_rows(2);
  plan.block_offsets = {0};
  plan.segments.push_back({.block_tokens = 4, .tokens = 4});
  plan.items.push_back({.end_row = 2});
  plan.finish();
  plan.clear();
  EXPECT_EQ(plan.rows(), 0);
  EXPECT_TRUE(plan.caches.empty() && plan.block_offsets.empty() && plan.segments.empty() &&
              plan.items.empty() && plan.row_lengths.empty() && plan.row_slots.empty() &&
              plan.row_begin.empty() && plan.row_items.empty());
}

TEST(AttentionPlan, BeginningAnewLeavesTheOwnCacheAlone) {
  AttentionPlan plan = plan_of_rows(2);
  plan.add_cache({.kv_heads = 2, .head_dim = 8});
  plan.revision = 7;
  plan.begin({.head_stride = 5, .kv_heads = 3, .head_dim = 16});
  ASSERT_EQ(plan.caches.size(), 1u);
  EXPECT_EQ(plan.caches[0].head_stride, 5);
  EXPECT_EQ(plan.kv_heads(), 3);
  EXPECT_EQ(plan.head_dim(), 16);
  EXPECT_EQ(plan.rows(), 0);
  EXPECT_EQ(plan.revision, 0u);
}

// Items of one contributor keep their indices after another's contribution, and the rows see both.
TEST(AttentionPlan, ContributionsAfterFinishingJoinTheIndex) {
  AttentionPlan plan = plan_of_rows(3);
  const std::vector<int64_t> first_blocks = {16, 48}, second_blocks = {5};
  const int32_t first =
      plan.add_segment({.block_tokens = 4, .tokens = 7, .first_position = 2}, first_blocks);
  plan.add_item({.segment = first, .first_row = 0, .end_row = 3});
  plan.finish();
  plan.revision = 7;  // revision of the method that owns these items

  const int32_t cache =
      plan.add_cache({.dtype = DType::kBF16, .head_stride = 99, .kv_heads = 2, .head_dim = 8});
  const int32_t second =
      plan.add_segment({.cache = cache, .block_tokens = 8, .tokens = 8}, second_blocks);
  EXPECT_EQ(plan.add_item({.segment = second, .first_row = 1, .end_row = 2}), 1);
  EXPECT_EQ(plan.revision, 0u) << "or the method would advance what is not its own alone";
  plan.finish();
  EXPECT_EQ(cache, 1);
  EXPECT_EQ(plan.segment_of(plan.items[0]).first_position, 2);
  EXPECT_EQ(plan.segment_of(plan.items[1]).first_block, 2);
  EXPECT_EQ(plan.cache_of(plan.segment_of(plan.items[1])).head_stride, 99);
  EXPECT_EQ(plan.block_offsets, (std::vector<int64_t>{16, 48, 5}));
  EXPECT_EQ(plan.row_begin, (std::vector<int32_t>{0, 1, 3, 4}));
  EXPECT_EQ(plan.row_items, (std::vector<int32_t>{0, 0, 1, 0}));
}

class AttentionPlanDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    plan_ = plan_of_rows(3);
    plan_.block_offsets = {0, 64};
    plan_.segments.push_back({.block_tokens = 4, .tokens = 8});
    plan_.items.push_back({.end_row = 3});
    plan_.finish();
  }
  AttentionPlan plan_;
};

TEST_F(AttentionPlanDeathTest, InconsistentListsOfRowsStop) {
  plan_.row_slots.pop_back();
  EXPECT_DEATH(plan_.finish(), "3 rows, 2 slots");
}
TEST_F(AttentionPlanDeathTest, ItemsBeyondTheRowsOrWithoutRowsStop) {
  plan_.items[0].end_row = 4;
  EXPECT_DEATH(plan_.finish(), "item rows \\[0, 4\\) of 3");
  plan_.items[0] = {.first_row = 2, .end_row = 2};
  EXPECT_DEATH(plan_.finish(), "item rows \\[2, 2\\)");
  plan_.items[0] = {.first_row = -1, .end_row = 2};
  EXPECT_DEATH(plan_.finish(), "item rows");
}
TEST_F(AttentionPlanDeathTest, ItemsOfSegmentsThatDoNotExistStop) {
  plan_.items[0].segment = 1;
  EXPECT_DEATH(plan_.finish(), "check failed");
}
TEST_F(AttentionPlanDeathTest, SegmentsBeyondTheBlocksStop) {
  plan_.segments[0].tokens = 9;
  EXPECT_DEATH(plan_.finish(), "segment wants blocks \\[0, 3\\) of 2");
  plan_.segments[0] = {.block_tokens = 0, .tokens = 1};
  EXPECT_DEATH(plan_.finish(), "check failed");
}
TEST_F(AttentionPlanDeathTest, SegmentsOfCachesThatDoNotExistStop) {
  plan_.segments[0].cache = 1;
  EXPECT_DEATH(plan_.finish(), "segment in cache 1 of 1");
  plan_.segments[0].cache = -1;
  EXPECT_DEATH(plan_.finish(), "segment in cache -1 of 1");
}
TEST_F(AttentionPlanDeathTest, CachesOfOtherHeadsOrDevicesStop) {
  const CacheView own = plan_.caches[0];
  CacheView other = own;
  other.dtype = DType::kF16;  // may differ, as strides may
  other.layer_stride = 3;
  plan_.add_cache(other);
  plan_.finish();
  plan_.caches[1].kv_heads = 1;
  EXPECT_DEATH(plan_.finish(), "caches of one plan differ: 1 kv heads of 8 beside 2 of 8");
  plan_.caches[1].kv_heads = 2;
  plan_.caches[1].head_dim = 16;
  EXPECT_DEATH(plan_.finish(), "caches of one plan differ: 2 kv heads of 16 beside 2 of 8");
  plan_.caches[1] = own;
  plan_.caches[1].device = Device::kCuda;
  EXPECT_DEATH(plan_.finish(), "or their devices");
}
TEST_F(AttentionPlanDeathTest, NegativeSlotsOtherThanNoneStop) {
  plan_.row_slots[1] = kNoSlot;
  plan_.finish();
  plan_.row_slots[1] = -2;
  EXPECT_DEATH(plan_.finish(), "a row's slot is -2");
}

}  // namespace
}  // namespace reprise::kv
