#include "tests/core/kernels/attention/cuda/attention_steps.h"

#include <gtest/gtest.h>

#include <set>

namespace reprise::kernels::cuda::testing {
namespace {

// Keys that a row of a decode step reads over all its items.
int64_t keys_of_row(const kv::AttentionPlan& plan, int32_t row) {
  int64_t keys = 0;
  for (const kv::WorkItem& item : plan.items)
    if (item.first_row <= row && row < item.end_row) keys += plan.segment_of(item).tokens;
  return keys;
}

TEST(AttentionSteps, EveryRowOfADecodeStepReadsItsWholePrompt) {
  std::vector<Step> steps = table3_steps();
  EXPECT_EQ(steps.size(), 3u * (1 + 2 * 3));
  for (const Step& step : kSteps)
    if (!step.is_prefill) steps.push_back(step);
  for (const Step& step : steps) {
    const kv::AttentionPlan plan = plan_of(step, cache_of(step));
    ASSERT_EQ(plan.rows(), step.rows);
    for (int32_t row = 0; row < step.rows; ++row)
      ASSERT_EQ(keys_of_row(plan, row), step.shared + step.own) << name_of(step) << " row " << row;
  }
}

// A step has one copy of the shared blocks, whether its plan reads them once (reads_shared_once) or
// once for each sequence.
TEST(AttentionSteps, PagedStepsMapTheSharedBlocksSeveralTimes) {
  for (const Step& step : table3_steps()) {
    const kv::AttentionPlan plan = plan_of(step, cache_of(step));
    const std::set<int64_t> blocks(plan.block_offsets.begin(), plan.block_offsets.end());
    EXPECT_EQ(static_cast<int32_t>(blocks.size()), blocks_of(step)) << name_of(step);
    EXPECT_EQ(*blocks.rbegin(), (blocks_of(step) - 1) * block_elements(step)) << name_of(step);
    const size_t items = step.reads_shared_once && step.shared > 0 ? 33 : 32;
    EXPECT_EQ(plan.items.size(), items) << name_of(step);
  }
}

// In both orders of a pool, the blocks of all layers fill its memory without overlapping.
TEST(AttentionSteps, BothOrdersOfAPoolFillTheSameMemory) {
  const Step step = {"a small step", kLlama3, 2, 48, 32};
  for (const bool blocks_first : {false, true}) {
    const Pool pool{.layers = 3, .blocks_first = blocks_first};
    const kv::CacheView cache = cache_of(step, nullptr, nullptr, pool);
    std::set<int64_t> places;
    for (const int64_t offset : plan_of(step, cache, pool).block_offsets)
      for (int64_t layer = 0; layer < pool.layers; ++layer)
        places.insert(offset + layer * cache.layer_stride);
    const auto blocks = static_cast<size_t>(pool.layers * blocks_of(step));
    EXPECT_EQ(places.size(), blocks) << blocks_first;
    EXPECT_EQ(*places.begin(), 0) << blocks_first;
    EXPECT_EQ(*places.rbegin(), static_cast<int64_t>(blocks - 1) * block_elements(step));
  }
}

}  // namespace
}  // namespace reprise::kernels::cuda::testing
