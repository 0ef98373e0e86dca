// The attention kernel against the double-precision oracle.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "core/kernels/kv_write/cuda/kv_write.cuh"
#include "core/kernels/rotary/cuda/rotary.cuh"
#include "tests/core/kernels/attention/cuda/attention_device.h"

namespace reprise::kernels::cuda {
namespace {

using testing::all_shapes;
using testing::AttentionRun;
using testing::expect_reference;
using testing::RandomCache;

constexpr DType kHalfDtypes[] = {DType::kBF16, DType::kF16};

AttentionParams plain(int64_t head_dim) {
  return {.scale = 1.0f / std::sqrt(static_cast<float>(head_dim))};
}

std::string name(DType dtype, int64_t dim, int32_t shape) {
  return std::string(name_of(dtype)) + " dim " + std::to_string(dim) + " tile " +
         text_of(kTileShapes[static_cast<size_t>(shape)]);
}

std::span<const RandomCache> one(const RandomCache& cache) { return {&cache, 1}; }

TEST(CudaAttention, EveryCompiledKernelMatchesTheReference) {
  uint64_t seed = 1;
  for (const DType dtype : kHalfDtypes)
    for (const int dim : kHeadDims)
      for (const int32_t shape : all_shapes(dim)) {
        // The block size is a multiple of 8, as copies by tensor maps require.
        const RandomCache cache(dtype, 1, 2, 2, 104, dim, ++seed);
        const AttentionRun run{
            .heads = 6, .params = plain(dim), .layer = 1, .tiles = {.shape = shape}};
        expect_reference(kernels::testing::causal_plan(cache, 67, 33), one(cache), run, seed,
                         name(dtype, dim, shape));
      }
}

TEST(CudaAttention, CausalPrefillMatchesTheReferenceAtEveryEdge) {
  uint64_t seed = 100;
  for (const int32_t shape : all_shapes())
    for (const auto& [past, rows] : {std::pair{0, 1},
                                     {0, 2},
                                     {63, 1},
                                     {64, 1},
                                     {127, 2},
                                     {0, 64},
                                     {1, 65},
                                     {5, 63},
                                     {30, 130}}) {
      ++seed;
      const RandomCache cache(kHalfDtypes[seed % 2], 1, 1, 1, past + rows, 64, seed);
      const AttentionRun run{.heads = 1, .params = plain(64), .tiles = {.shape = shape}};
      expect_reference(kernels::testing::causal_plan(cache, past, rows), one(cache), run, seed,
                       "past " + std::to_string(past) + " rows " + std::to_string(rows) + " " +
                           name(cache.view.dtype, 64, shape));
    }
}

// Private and shared segments in blocks of any size, whose first tokens may be skipped; masks,
// windows, slopes and grouped heads; one cache or several; whole items or a random number of parts.
TEST(CudaAttention, RandomPlansMatchTheReference) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    const int64_t kv_heads = pick(1, 2), heads = kv_heads * pick(1, 5);
    const int64_t dim = kHeadDims[static_cast<size_t>(pick(0, 4))];
    std::vector<RandomCache> caches;
    for (int count = pick(1, 2), i = 0; i < count; ++i)
      caches.emplace_back(kHalfDtypes[seed % 2], 16, 2, kv_heads, pick(1, 90), dim, seed * 10);
    kv::AttentionPlan plan = kernels::testing::random_plan_over(caches, pick);
    for (kv::Segment& segment : plan.segments) {
      segment.skipped = pick(0, 1) * pick(0, std::min(segment.tokens, 100));
      segment.tokens -= segment.skipped;
    }
    plan.finish();
    std::vector<float> slopes;
    for (int64_t head = 0; head < heads; ++head)
      slopes.push_back(0.5f / static_cast<float>(head + 1));
    AttentionRun run{
        .heads = heads, .params = plain(dim), .layer = 1, .gpu = seed % 3 == 0 ? kA100 : kH100};
    run.row_stride = (heads + 2 * kv_heads) * dim;  // inside a fused projection
    if (pick(0, 3) == 0) run.params.window = pick(1, 500);
    if (pick(0, 3) == 0) run.params.alibi = {.slopes = slopes};
    const std::vector<int32_t> shapes = all_shapes(dim);
    if (pick(0, 2) > 0)
      run.tiles.shape = shapes[static_cast<size_t>(pick(0, static_cast<int>(shapes.size()) - 1))];
    run.tiles.parts = pick(0, 4);
    run.results = pick(0, 2) == 0 ? RowResults::kPartial : RowResults::kFinished;
    expect_reference(plan, caches, run, seed, "random plan");
  }
}

// Caches of both types in one plan: each item is computed in its cache's type.
TEST(CudaAttention, PlansMayMixTypesOfCaches) {
  std::vector<RandomCache> caches;
  caches.emplace_back(DType::kBF16, 4, 1, 1, 16, 64, 1);
  caches.emplace_back(DType::kF16, 1, 1, 1, 70, 64, 2);
  kv::AttentionPlan plan;
  plan.begin(caches[0].view);
  plan.add_cache(caches[1].view);
  for (int row = 0; row < 5; ++row) kernels::testing::add_row(plan, 200);
  const int32_t shared =
      kernels::testing::add_segment(plan, caches[1], 70, 0, [] { return int64_t{0}; });
  plan.segments.back().cache = 1;
  plan.add_item({.segment = shared, .first_row = 0, .end_row = 5});
  int64_t block = 0;
  const int32_t own =
      kernels::testing::add_segment(plan, caches[0], 50, 70, [&] { return block++; });
  plan.add_item({.segment = own, .first_row = 2, .end_row = 3});
  plan.finish();
  const AttentionRun run{.heads = 2, .params = plain(64)};
  DeviceAttention device(testing::test_runtime());
  device.begin(testing::DevicePlan(plan, caches).plan(), run.heads, run.params, run.gpu);
  EXPECT_EQ(device.schedule().launches.size(), 2u);
  expect_reference(plan, caches, run, 3, "bf16 and f16");
}

// More caches than a step has tensor maps for, and one whose heads are no whole number of rows
// apart. Whole tiles are copied by maps, those of the other caches row by row.
TEST(CudaAttention, CachesWithoutATensorMapAreCopiedRowByRow) {
  std::vector<RandomCache> caches;
  for (uint64_t i = 0; i < StepMaps::kMost + 2; ++i)
    caches.emplace_back(DType::kBF16, 10, 2, 2, 16, 128, i + 1);
  caches[1].view.head_stride -= 8;
  kv::AttentionPlan plan;
  plan.begin(caches[0].view);
  for (size_t i = 1; i < caches.size(); ++i) plan.add_cache(caches[i].view);
  for (int row = 0; row < 3; ++row) kernels::testing::add_row(plan, 1000);
  for (int32_t i = 0; i < static_cast<int32_t>(caches.size()); ++i) {
    int64_t block = 0;
    const int32_t segment = kernels::testing::add_segment(plan, caches[static_cast<size_t>(i)], 150,
                                                          150 * i, [&] { return block++; });
    plan.segments.back().cache = i;
    plan.add_item({.segment = segment, .first_row = 0, .end_row = 3});
  }
  plan.finish();
  for (const int32_t shape : all_shapes(128))
    if (kTileShapes[static_cast<size_t>(shape)].by_tensor_maps)
      expect_reference(plan, caches,
                       {.heads = 2, .params = plain(128), .layer = 1, .tiles = {.shape = shape}}, 7,
                       "caches with and without maps");
}

TEST(CudaAttention, SlidingWindowHidesOldKeys) {
  for (const int32_t shape : all_shapes())
    for (const int64_t window : {1, 7, 64, 150}) {
      const RandomCache cache(kHalfDtypes[window % 2], 1, 1, 1, 200, 64, 7);
      AttentionRun run{.heads = 2, .params = plain(64), .tiles = {.shape = shape}};
      run.params.window = window;
      const std::string what = "window " + std::to_string(window);
      expect_reference(kernels::testing::causal_plan(cache, 140, 60), one(cache), run, 11, what);
      expect_reference(kernels::testing::causal_plan(cache, 199, 1), one(cache), run, 11, what);
    }
}

TEST(CudaAttention, AlibiAddsADistancePenaltyPerHead) {
  const std::vector<float> slopes = {0.5f, 0.25f, 0.125f, 0.0625f};
  for (const DType dtype : kHalfDtypes)
    for (const bool rounded : {false, true})
      for (const auto& [past, rows] : {std::pair{150, 1}, {3, 70}}) {
        const RandomCache cache(dtype, 1, 1, 2, past + rows, 64, 13);
        AttentionRun run{.heads = 4, .params = plain(64)};
        run.params.alibi = {
            .slopes = slopes, .rounded_to_bf16 = rounded, .factor = run.params.scale};
        expect_reference(
            kernels::testing::causal_plan(cache, past, rows), one(cache), run, 17,
            std::string("rounded ") + (rounded ? "yes" : "no") + " rows " + std::to_string(rows));
      }
}

// Falcon-7B: 71 query heads of one kv head.
TEST(CudaAttention, ManyHeadsMayShareOneKvHead) {
  for (const int32_t shape : all_shapes()) {
    const RandomCache cache(DType::kBF16, 3, 1, 1, 32, 64, 5);
    kv::AttentionPlan plan = kernels::testing::causal_plan(cache, 88, 2);
    expect_reference(plan, one(cache),
                     {.heads = 71, .params = plain(64), .tiles = {.shape = shape}}, 6,
                     name(DType::kBF16, 64, shape));
  }
}

TEST(CudaAttention, QueriesAndOutputMayHaveAnyType) {
  for (const DType kv : kHalfDtypes)
    for (const DType q : {DType::kF32, DType::kBF16, DType::kF16})
      for (const DType out : {DType::kF32, DType::kBF16, DType::kF16}) {
        const RandomCache cache(kv, 1, 1, 2, 70, 64, 5);
        const kv::AttentionPlan plan = kernels::testing::causal_plan(cache, 60, 10);
        // Numbers that both 16-bit types hold: multiples of 2^-4 below 8.
        std::vector<float> values = kernels::testing::random_queries(10 * 4 * 64, 9);
        for (float& value : values) value = std::round(value * 16.0f) / 16.0f;
        const AttentionRun run{.heads = 4, .params = plain(64), .q_dtype = q, .out_dtype = out};
        const auto want = reference::attention(
            plan, 0, {.data = values.data(), .row_stride = 4 * 64, .heads = 4}, run.params);
        reprise::testing::expect_within(
            testing::run_attention(plan, one(cache), values, run), want,
            testing::bounds(plan, one(cache), values, run, want),
            std::string(name_of(q)) + " to " + std::string(name_of(out)));
      }
}

// Cuts one sequence into 1 to 5 parts. The first part begins inside a block.
TEST(CudaAttention, PartsMergeToTheWhole) {
  const RandomCache cache(DType::kBF16, 20, 1, 2, 16, 64, 3);
  for (const int32_t shape : all_shapes())
    for (const int32_t parts : {1, 2, 3, 5}) {
      kv::AttentionPlan plan;
      plan.begin(cache.view);
      for (int row = 0; row < 3; ++row) kernels::testing::add_row(plan, 300);
      int64_t block = 0;
      const int32_t id =
          kernels::testing::add_segment(plan, cache, 300, 0, [&] { return block++; });
      plan.segments.back().skipped = 9;
      plan.segments.back().tokens -= 9;
      plan.add_item({.segment = id, .first_row = 0, .end_row = 3});
      plan.finish();
      const AttentionRun run{
          .heads = 4, .params = plain(64), .tiles = {.shape = shape, .parts = parts}};
      DeviceAttention device(testing::test_runtime());
      device.begin(testing::DevicePlan(plan, one(cache)).plan(), 4, run.params, run.model(),
                   run.results, run.tiles);
      EXPECT_EQ(device.schedule().cut.parts.size(), static_cast<size_t>(parts));
      EXPECT_EQ(device.schedule().cut.entries, parts == 1 ? 0 : parts * 3 * 4);
      expect_reference(plan, one(cache), run, 4, std::to_string(parts) + " parts");
    }
}

// Each block of a shape by_warpgroups gets tasks with more tiles than its rings hold, tasks with a
// part of a tile, and at the end several tasks without keys.
TEST(CudaAttention, WarpgroupsTakeTaskAfterTask) {
  for (const int32_t shape : all_shapes()) {
    if (!kTileShapes[static_cast<size_t>(shape)].by_warpgroups) continue;
    for (const int64_t block_tokens : {16, 5}) {
      const RandomCache cache(DType::kBF16, 150, 1, 2, block_tokens, 64, 7);
      kv::AttentionPlan plan;
      plan.begin(cache.view);
      for (int row = 0; row < 5; ++row) kernels::testing::add_row(plan, 600);
      int64_t block = 0;
      for (const int32_t tokens : {600, 590, 580, 130, 128, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
        plan.add_item({.segment = kernels::testing::add_segment(
                           plan, cache, tokens, 0, [&] { return block++ % cache.blocks; }),
                       .first_row = 0,
                       .end_row = 5});
      plan.finish();
      const AttentionRun run{
          .heads = 4, .params = plain(64), .tiles = {.shape = shape, .parts = 1}};
      ASSERT_EQ(run.model().sms, 3);
      StepSchedule schedule;
      schedule.build(plan, run.heads, run.params, run.model(), run.results, run.tiles);
      EXPECT_EQ(schedule.tasks.size(), 18u);
      expect_reference(plan, one(cache), run, 4,
                       "blocks of " + std::to_string(block_tokens) + " tokens");
    }
  }
}

// Sequences that grow by a token a step: the arrays are changed in place, and the results must
// equal those of an attention that starts anew.
TEST(CudaAttention, AStepAfterAStepCopiesWhatChangedAlone) {
  const RandomCache cache(DType::kF16, 16, 1, 1, 16, 32, 3);
  DeviceAttention device(testing::test_runtime());
  for (int32_t step = 0; step < 20; ++step) {
    kv::AttentionPlan plan;
    plan.begin(cache.view);
    for (int64_t sequence = 0; sequence < 4; ++sequence) {
      const auto tokens = static_cast<int32_t>(30 + 3 * sequence + step);
      kernels::testing::add_row(plan, tokens - 1);
      int64_t block = 4 * sequence;
      const int32_t id =
          kernels::testing::add_segment(plan, cache, tokens, 0, [&] { return block++; });
      plan.add_item({.segment = id,
                     .first_row = static_cast<int32_t>(sequence),
                     .end_row = static_cast<int32_t>(sequence) + 1});
    }
    plan.finish();
    const testing::DevicePlan on_device(plan, one(cache));
    const AttentionRun run{.heads = 2, .params = plain(32)};
    device.begin(on_device.plan(), run.heads, run.params, run.gpu);
    const auto q = testing::queries_for(4 * 2 * 32, static_cast<uint64_t>(step), DType::kF16);
    EXPECT_EQ(testing::run_layer(device, plan, q, run),
              testing::run_attention(plan, one(cache), q, run))
        << "step " << step;
  }
}

// Keys, values and queries may come from the kernels launched before, which may still be ending
// when this one begins. The block size is a multiple of 8, as copies by tensor maps require.
TEST(CudaAttention, ReadsWhatKernelsHaveJustWritten) {
  constexpr int64_t kTokens = 72, kRows = 3, kDim = 64;
  const RandomCache cache(DType::kBF16, 1, 1, 1, kTokens, kDim, 3);
  const RandomCache before(DType::kBF16, 1, 1, 1, kTokens, kDim, 4);
  const kv::AttentionPlan plan = kernels::testing::causal_plan(cache, kTokens - kRows, kRows);
  const auto q = testing::queries_for(kRows * kDim, 1, DType::kBF16);
  const std::vector<float> to_keys = reprise::testing::values_of(cache.keys),
                           to_values = reprise::testing::values_of(cache.values);
  std::vector<int64_t> slots;
  for (int64_t token = 0; token < kTokens; ++token) slots.push_back(token * kDim);
  const cuda_on_cpu::DeviceArray<int64_t> device_slots(slots);
  for (const int32_t shape : all_shapes()) {
    const AttentionRun run{.params = plain(kDim), .tiles = {.shape = shape, .parts = 2}};
    const testing::DevicePlan on_device(plan, one(before));
    DeviceAttention device(testing::test_runtime());
    device.begin(on_device.plan(), run.heads, run.params, run.model(), run.results, run.tiles);
    const cuda_on_cpu::DeviceArray<float> keys(to_keys), values(to_values), queries(q), out(q);
    const cuda_on_cpu::DeviceArray<float> cos(std::vector<float>(kRows * kDim / 2, 1.0f));
    const cuda_on_cpu::DeviceArray<float> sin(std::vector<float>(kRows * kDim / 2, 0.0f));
    rotary({.data = queries.data(),  // by an angle of 0
            .rows = kRows,
            .row_stride = kDim,
            .heads = 1,
            .head_dim = kDim,
            .half = kDim / 2,
            .cos = cos.data(),
            .sin = sin.data()},
           nullptr);
    write_kv({.cache = on_device.plan().caches[0],
              .row_slots = device_slots.data(),
              .rows = kTokens,
              .keys = keys.data(),
              .values = values.data(),
              .row_stride = kDim},
             nullptr);
    device.run(0, {.data = queries.data(), .dtype = DType::kF32, .row_stride = kDim},
               {.data = out.data(), .dtype = DType::kF32}, nullptr);
    EXPECT_EQ(out.values(), testing::run_attention(plan, one(cache), q, run))
        << name(DType::kBF16, kDim, shape);
  }
}

TEST(CudaAttention, AStepThatFoundNoMemoryCanBeBegunAgain) {
  const RandomCache cache(DType::kBF16, 1, 1, 1, 100, 64, 3);
  const kv::AttentionPlan plan = kernels::testing::causal_plan(cache, 90, 10);
  const testing::DevicePlan on_device(plan, one(cache));
  const AttentionRun run{.heads = 2, .params = plain(64)};
  cuda_on_cpu::PlainRuntime runtime;
  DeviceAttention device(runtime);
  runtime.is_full = true;
  EXPECT_THROW(device.begin(on_device.plan(), run.heads, run.params, run.gpu), Error);
  runtime.is_full = false;
  device.begin(on_device.plan(), run.heads, run.params, run.gpu);
  const auto q = testing::queries_for(10 * 2 * 64, 1, DType::kBF16);
  EXPECT_EQ(testing::run_layer(device, plan, q, run),
            testing::run_attention(plan, one(cache), q, run));
}

TEST(CudaAttention, WhatTheKernelCannotReadIsAnErrorThatSaysSo) {
  const auto message = [](const RandomCache& cache) -> std::string {
    try {
      StepSchedule schedule;
      schedule.build(kernels::testing::causal_plan(cache, 0, 2), 1, {}, kA100);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message(RandomCache(DType::kF32, 1, 1, 1, 2, 64, 1)).find("f32"), std::string::npos);
  EXPECT_NE(message(RandomCache(DType::kBF16, 1, 1, 1, 2, 72, 1)).find("head_dim 72"),
            std::string::npos);
  RandomCache odd(DType::kBF16, 1, 1, 1, 4, 64, 1);
  odd.view.keys = static_cast<char*>(odd.view.keys) + 2;
  EXPECT_NE(message(odd).find("aligned to 16 bytes"), std::string::npos);
  EXPECT_EQ(message(RandomCache(DType::kBF16, 1, 1, 1, 2, 64, 1)), "");
}

}  // namespace
}  // namespace reprise::kernels::cuda
