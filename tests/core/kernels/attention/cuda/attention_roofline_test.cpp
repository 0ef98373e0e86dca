#include "core/kernels/attention/cuda/roofline.h"

#include <gtest/gtest.h>

#include "core/kernels/attention/cuda/schedule.h"
#include "tests/core/kernels/attention/attention_cases.h"

namespace reprise::kernels::cuda {
namespace {

using kernels::testing::RandomCache;

// 32 rows of 8 query heads and 2 kv heads of 64. All rows share one segment of 1000 tokens, and
// each has 20 private tokens.
kv::AttentionPlan shared_plan(const RandomCache& cache) {
  kv::AttentionPlan plan;
  plan.begin(cache.view);
  for (int row = 0; row < 32; ++row) kernels::testing::add_row(plan, 1020);
  const auto none = [] { return int64_t{0}; };
  plan.add_item({.segment = kernels::testing::add_segment(plan, cache, 1000, 0, none),
                 .first_row = 0,
                 .end_row = 32});
  for (int row = 0; row < 32; ++row)
    plan.add_item({.segment = kernels::testing::add_segment(plan, cache, 20, 1000, none),
                   .first_row = row,
                   .end_row = row + 1});
  plan.finish();
  return plan;
}

TEST(CudaRoofline, SharedKeysAreReadOnceAndMultipliedByEveryRow) {
  const RandomCache cache(DType::kBF16, 1, 1, 2, 1000, 64, 1);
  const AttentionWork work = least_work(shared_plan(cache), 8, {});
  EXPECT_EQ(work.kv_bytes, 2 * (1000 + 32 * 20) * 2 * 64 * 2);
  EXPECT_EQ(work.query_bytes, 32 * 8 * 64 * 2);
  EXPECT_EQ(work.output_bytes, 32 * 8 * 64 * 2);
  EXPECT_EQ(work.partial_bytes, 0);
  EXPECT_EQ(work.exponentials, 32 * 8 * 1020);
  EXPECT_EQ(work.flops, 4.0 * 64 * 32 * 8 * 1020);
}

TEST(CudaRoofline, MasksAndWindowsTakeWhatTheyHide) {
  const RandomCache cache(DType::kF16, 1, 1, 1, 100, 32, 1);
  const kv::AttentionPlan causal = kernels::testing::causal_plan(cache, 0, 100);
  EXPECT_EQ(least_work(causal, 1, {}).exponentials, 100 * 101 / 2);
  // Rows 0 to 9 see 1 to 10 keys, the others 10.
  EXPECT_EQ(least_work(causal, 1, {.window = 10}).exponentials, 55 + 90 * 10);
  const kv::AttentionPlan decode = kernels::testing::causal_plan(cache, 99, 1);
  EXPECT_EQ(least_work(decode, 1, {.window = 10}).kv_bytes, 2 * 10 * 32 * 2);
}

// A prompt of 2048 tokens takes 4 * 128 * 32 heads * 2048 * 2049 / 2 FLOPs, 16 MiB of keys and of
// values each, and as much of queries and output.
TEST(CudaRoofline, PrefillIsLimitedByProductsAndDecodeByMemory) {
  RandomCache cache(DType::kBF16, 1, 1, 1, 2048, 128, 1);
  cache.view.kv_heads = 32;  // arithmetic alone: no key is read
  const kv::AttentionPlan prefill = kernels::testing::causal_plan(cache, 0, 2048);
  const Roofline a100 = roofline_of(least_work(prefill, 32, {}), kA100);
  EXPECT_NEAR(a100.product_us, 4.0 * 128 * 32 * 2048 * 2049 / 2 / 312e6, 1e-9);
  EXPECT_NEAR(a100.memory_us, 4.0 * (16 << 20) / 2039e3, 1e-9);
  EXPECT_EQ(a100.limit(), "products");
  EXPECT_EQ(a100.least_us(), a100.product_us);
  // On an H200 products are three times as fast, but exponentials less than twice.
  const Roofline h200 = roofline_of(least_work(prefill, 32, {}), kH200);
  EXPECT_NEAR(h200.exponential_us, 32.0 * 2048 * 2049 / 2 / (16 * 132 * 1.83e3), 1e-9);
  EXPECT_EQ(h200.limit(), "products");

  const kv::AttentionPlan decode = kernels::testing::causal_plan(cache, 2047, 1);
  for (const GpuModel& gpu : {kA100, kH100, kH200})
    EXPECT_EQ(roofline_of(least_work(decode, 32, {}), gpu).limit(), "memory") << gpu.name;
}

// Tiles never do less than the plan asks for, and what they do in addition has a known reason.
TEST(CudaRoofline, WhatTilesAddIsWholeTilesAndPartialResults) {
  const RandomCache cache(DType::kBF16, 1, 1, 2, 1000, 64, 1);
  const kv::AttentionPlan plan = shared_plan(cache);
  const AttentionWork least = least_work(plan, 8, {});
  for (const GpuModel& gpu : {kA100, kH100, kH200}) {
    StepSchedule schedule;
    schedule.build(plan, 8, {}, gpu);
    const AttentionWork tiled = tiled_work(schedule, plan, {});
    EXPECT_EQ(tiled.kv_bytes, least.kv_bytes);
    EXPECT_GE(tiled.reread_bytes, 0.0);
    EXPECT_GE(tiled.flops, least.flops);
    EXPECT_GE(tiled.exponentials, least.exponentials);
    EXPECT_EQ(tiled.partial_bytes, 2.0 * static_cast<double>(schedule.cut.entries) * (64 + 2) * 4);
    EXPECT_GE(schedule.cut.entries, 2 * 32 * 8) << "every row has two parts at least";
    EXPECT_GE(roofline_of(tiled, gpu).least_us(), roofline_of(least, gpu).least_us());
  }
  // One tile takes all 128 lanes of a kv head: its 1000 keys are 16 tiles of 64.
  StepSchedule whole;
  whole.build(plan, 8, {}, kA100, RowResults::kFinished, {.shape = 3, .parts = 1});
  EXPECT_EQ(tiled_work(whole, plan, {}).reread_bytes, 0.0);
  EXPECT_EQ(tiled_work(whole, plan, {}).exponentials, 2.0 * 128 * (16 * 64 + 32 * 64));
  // With tiles of 16 lanes, the shared keys are read eight times.
  whole.build(plan, 8, {}, kA100, RowResults::kFinished, {.shape = 0, .parts = 1});
  const AttentionWork small = tiled_work(whole, plan, {});
  EXPECT_EQ(small.reread_bytes, 2 * 7 * 1000 * 2 * 64 * 2);
  EXPECT_NEAR(roofline_of(small, kA100).l2_us, (small.bytes() + small.reread_bytes) / 7219200,
              1e-9);
}

}  // namespace
}  // namespace reprise::kernels::cuda
