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

}  // namespace
}  // namespace reprise::kernels::cuda::testing
