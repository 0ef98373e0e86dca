// Tests softmax at its edges, through the attention kernel: ties, scores that would overflow a
// naive exponential, rows and tiles that see nothing, NaN. Also tests that neither the order of
// rows nor cutting into parts changes a bit of the result.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/core/kernels/attention/cuda/attention_device.h"
#ifdef REPRISE_CUDA_ON_CPU
#include <cuda_on_cpu.h>
#endif

namespace reprise::kernels::cuda {
namespace {

using testing::all_shapes;
using testing::AttentionRun;
using testing::RandomCache;

constexpr DType kHalfDtypes[] = {DType::kBF16, DType::kF16};
constexpr int64_t kDim = 64;

void fill_rows(Tensor& tensor, int64_t first, int64_t end, float value) {
  visit_dtype(tensor.dtype(), [&](auto tag) {
    using T = decltype(tag);
    std::fill(tensor.as<T>() + first * kDim, tensor.as<T>() + end * kDim, T(value));
  });
}

float value_at(Tensor& tensor, int64_t element) {
  return visit_dtype(tensor.dtype(), [&](auto tag) {
    return static_cast<float>(tensor.as<decltype(tag)>()[element]);
  });
}

// `rows` query rows that all see every token of the cache.
kv::AttentionPlan full_plan(const RandomCache& cache, int32_t tokens, int32_t rows) {
  kv::AttentionPlan plan;
  plan.begin(cache.view);
  for (int32_t row = 0; row < rows; ++row) kernels::testing::add_row(plan, tokens);
  const int32_t id =
      kernels::testing::add_segment(plan, cache, tokens, 0, [] { return int64_t{0}; });
  plan.add_item({.segment = id, .first_row = 0, .end_row = rows});
  plan.finish();
  return plan;
}

std::vector<float> run(const kv::AttentionPlan& plan, const RandomCache& cache,
                       const std::vector<float>& q, const AttentionRun& settings) {
  return testing::run_attention(plan, {&cache, 1}, q, settings);
}

std::vector<float> constant_queries(int32_t rows, float value) {
  return std::vector<float>(static_cast<size_t>(rows * kDim), value);
}

// Weights of 1 are exact in both types; a sum of n terms of magnitude 1 in f32 is off by n 2^-24.
TEST(CudaAttentionExtremes, EqualScoresGiveTheMeanOfTheValues) {
  constexpr int32_t kTokens = 150;
  for (const DType dtype : kHalfDtypes)
    for (const int32_t shape : all_shapes())
      for (const float key : {0.0f, 64.0f, -64.0f}) {
        RandomCache cache(dtype, 1, 1, 1, kTokens, kDim, 3);
        fill_rows(cache.keys, 0, kTokens, key);
        const kv::AttentionPlan plan = full_plan(cache, kTokens, 3);
        const std::vector<float> q = constant_queries(3, 8.0f);  // scores to +-16384
        const auto want = reference::attention(
            plan, 0, {.data = q.data(), .row_stride = kDim, .heads = 1}, {.scale = 1.0f});
        const auto got =
            run(plan, cache, q, {.params = {.scale = 1.0f}, .tiles = {.shape = shape}});
        for (size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], want[i], 4.0 * kTokens * 0x1p-24) << "key " << key;
      }
}

// The largest score becomes m, so its weight is 1, which needs no rounding. In a head where few
// keys weigh much, rounding this weight would make the largest error of all. Here it is e^3.72
// times the other weights, and only its value is not 0.
TEST(CudaAttentionExtremes, TheLargestWeightIsNotRounded) {
  constexpr int32_t kTokens = 150;
  for (const DType dtype : kHalfDtypes)
    for (const int32_t shape : all_shapes())
      for (const int64_t winner : {0, 63, 64, 127, 149}) {
        RandomCache cache(dtype, 1, 1, 1, kTokens, kDim, 3);
        fill_rows(cache.keys, 0, kTokens, 0.0f);
        fill_rows(cache.keys, winner, winner + 1, 0.7265625f);
        fill_rows(cache.values, 0, kTokens, 0.0f);
        fill_rows(cache.values, winner, winner + 1, 1.0f);
        const kv::AttentionPlan plan = full_plan(cache, kTokens, 2);
        const std::vector<float> q = constant_queries(2, 8.0f);
        const AttentionParams params{.scale = 0.01f};
        const auto want = reference::attention(
            plan, 0, {.data = q.data(), .row_stride = kDim, .heads = 1}, params);
        const auto got = run(plan, cache, q, {.params = params, .tiles = {.shape = shape}});
        for (size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], want[i], 4.0 * kTokens * 0x1p-24)
              << name_of(dtype) << " winner " << winner;
      }
}

// Scores of +-30000 * 32 * 2000 = 2e9. The one weight is 2^0 = 1, which ex2.approx has exactly.
TEST(CudaAttentionExtremes, HugeScoreTakesAllTheWeight) {
  constexpr int32_t kTokens = 140;
  for (const DType dtype : kHalfDtypes)
    for (const int32_t shape : all_shapes())
      for (const int64_t winner : {0, 63, 64, 127, 139})
        for (const float sign : {1.0f, -1.0f}) {
          RandomCache cache(dtype, 1, 1, 1, kTokens, kDim, 3);
          fill_rows(cache.keys, 0, kTokens, -sign * 30000.0f);
          fill_rows(cache.keys, winner, winner + 1, sign * 30000.0f);
          const auto got =
              run(full_plan(cache, kTokens, 2), cache, constant_queries(2, sign * 2000.0f),
                  {.params = {.scale = 1.0f}, .tiles = {.shape = shape}});
          for (size_t i = 0; i < got.size(); ++i)
            ASSERT_EQ(got[i],
                      value_at(cache.values, winner * kDim + static_cast<int64_t>(i) % kDim))
                << name_of(dtype) << " winner " << winner;
        }
}

TEST(CudaAttentionExtremes, RowsThatSeeNothingAreZeroAmongRowsThatSee) {
  for (const DType dtype : kHalfDtypes)
    for (const int32_t shape : all_shapes()) {
      const RandomCache cache(dtype, 1, 1, 1, 150, kDim, 3);
      kv::AttentionPlan plan;
      plan.begin(cache.view);
      // The window ends behind the segment for rows of position 500, and starts in it for others.
      for (int32_t row = 0; row < 40; ++row)
        kernels::testing::add_row(plan, row % 3 == 0 ? 500 : 4 * row);
      const int32_t id =
          kernels::testing::add_segment(plan, cache, 150, 0, [] { return int64_t{0}; });
      plan.add_item(
          {.segment = id, .first_row = 0, .end_row = 40, .mask = kv::Mask::kCausal, .visible = -5});
      plan.finish();
      AttentionRun settings{.params = {.scale = 0.2f, .window = 140}, .tiles = {.shape = shape}};
      const auto q = testing::queries_for(40 * kDim, 4, dtype);
      const auto want = reference::attention(
          plan, 0, {.data = q.data(), .row_stride = kDim, .heads = 1}, settings.params);
      const auto got = run(plan, cache, q, settings);
      reprise::testing::expect_within(
          got, want, testing::bounds(plan, {&cache, 1}, q, settings, want), "nothing seen");
      // The mask hides all keys from rows 0 to 5, and the window from every third row.
      for (size_t row = 0; row < 40; row += row < 6 ? 1 : 3)
        for (size_t c = 0; c < kDim; ++c) ASSERT_EQ(got[row * kDim + c], 0.0f) << "row " << row;
    }
}

TEST(CudaAttentionExtremes, RowWithoutAnyItemIsZero) {
  const RandomCache cache(DType::kBF16, 1, 1, 1, 8, kDim, 3);
  kv::AttentionPlan plan = full_plan(cache, 8, 3);
  plan.items[0].first_row = 1;
  plan.items[0].end_row = 2;
  plan.finish();
  const auto got = run(plan, cache, testing::queries_for(3 * kDim, 1, DType::kBF16), {});
  for (size_t c = 0; c < kDim; ++c) {
    EXPECT_EQ(got[c], 0.0f);
    EXPECT_NE(got[kDim + c], 0.0f);
    EXPECT_EQ(got[2 * kDim + c], 0.0f);
  }
}

TEST(CudaAttentionExtremes, EmptyPlansSegmentsAndItemListsAreFine) {
  const RandomCache cache(DType::kBF16, 1, 1, 1, 8, kDim, 3);
  kv::AttentionPlan empty;
  empty.begin(cache.view);
  empty.finish();
  const auto q = testing::queries_for(2 * kDim, 1, DType::kBF16);
  EXPECT_TRUE(run(empty, cache, q, {}).empty());
  for (const int32_t shape : all_shapes())
    for (const RowResults results : {RowResults::kFinished, RowResults::kPartial})
      EXPECT_EQ(
          run(full_plan(cache, 0, 2), cache, q, {.results = results, .tiles = {.shape = shape}}),
          std::vector<float>(2 * kDim, 0.0f));
}

// Two parts whose scores are thousands apart: the smaller must vanish, not turn into NaN.
TEST(CudaAttentionExtremes, MergeOfPartsFarApartKeepsTheLarger) {
  for (const DType dtype : kHalfDtypes)
    for (const int32_t shape : all_shapes()) {
      RandomCache cache(dtype, 1, 1, 1, 256, kDim, 3);
      fill_rows(cache.keys, 0, 128, -64.0f);
      fill_rows(cache.keys, 128, 256, 64.0f);
      const kv::AttentionPlan plan = full_plan(cache, 256, 3);
      const std::vector<float> q = constant_queries(3, 1.0f);
      const auto want = reference::attention(
          plan, 0, {.data = q.data(), .row_stride = kDim, .heads = 1}, {.scale = 1.0f});
      const auto got =
          run(plan, cache, q, {.params = {.scale = 1.0f}, .tiles = {.shape = shape, .parts = 2}});
      for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 4.0 * 128 * 0x1p-24);
    }
}

// A corrupt query or key must show in the result, so that sampling can report it. It must not
// change other rows. (A corrupt value may, see attention().)
TEST(CudaAttentionExtremes, NanReachesTheRowsThatSeeItAlone) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr int32_t kTokens = 150, kRows = 4;
  for (const DType dtype : kHalfDtypes)
    for (const int32_t shape : all_shapes())
      for (const int32_t parts : {1, 2}) {
        const AttentionRun settings{.params = {.scale = 0.25f},
                                    .tiles = {.shape = shape, .parts = parts}};
        RandomCache cache(dtype, 1, 1, 1, kTokens, kDim, 3);
        std::vector<float> q = testing::queries_for(kRows * kDim, 1, dtype);
        q[kDim + 3] = kNan;
        auto got = run(full_plan(cache, kTokens, kRows), cache, q, settings);
        for (size_t i = 0; i < got.size(); ++i)
          ASSERT_EQ(std::isnan(got[i]), i / kDim == 1) << "query, element " << i;
        q[kDim + 3] = 1.0f;
        // Row r sees the keys before 147 + r. These contain the corrupt key for some rows only.
        fill_rows(cache.keys, 148, 149, kNan);
        kv::AttentionPlan plan = full_plan(cache, kTokens, kRows);
        plan.items[0].mask = kv::Mask::kCausal;
        plan.items[0].visible = 147;
        plan.finish();
        got = run(plan, cache, q, settings);
        for (size_t i = 0; i < got.size(); ++i)
          ASSERT_EQ(std::isnan(got[i]), i / kDim >= 2) << "key, element " << i;
      }
}

// The bytes in a block behind a segment's tokens, or before the tokens that it reads, may have any
// value.
TEST(CudaAttentionExtremes, WhatIsNotOfTheSegmentDoesNotMatter) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr int32_t kEnd = 90;
  for (const DType dtype : kHalfDtypes)
    for (const int32_t shape : all_shapes())
      for (const int32_t skipped : {20, 24}) {  // a multiple of 8 is copied in groups of 8
        RandomCache cache(dtype, 1, 1, 1, 160, kDim, 3);
        kv::AttentionPlan plan = full_plan(cache, 130, 2);
        plan.segments[0].skipped = skipped;
        plan.segments[0].tokens = kEnd - skipped;
        plan.finish();
        const auto q = testing::queries_for(2 * kDim, 1, dtype);
        const AttentionRun settings{.params = {.scale = 0.25f}, .tiles = {.shape = shape}};
        const auto want = run(plan, cache, q, settings);
        for (Tensor* tensor : {&cache.keys, &cache.values}) {
          fill_rows(*tensor, 0, skipped, kNan);
          fill_rows(*tensor, kEnd, 160, kNan);
        }
        EXPECT_EQ(run(plan, cache, q, settings), want);
      }
}

#ifdef REPRISE_CUDA_ON_CPU
// Restores the forward order when a test ends, even if it fails.
struct WithOrder {
  explicit WithOrder(cuda_on_cpu::Order order) { cuda_on_cpu::set_order(order); }
  ~WithOrder() { cuda_on_cpu::set_order(cuda_on_cpu::Order::kForward); }
};

TEST(CudaAttentionExtremes, ResultDoesNotDependOnTheOrderOfThreads) {
  for (const int32_t shape : all_shapes()) {
    const RandomCache cache(DType::kBF16, 1, 1, 2, 200, kDim, 3);
    const kv::AttentionPlan plan = kernels::testing::causal_plan(cache, 180, 20);
    const auto q = testing::queries_for(20 * 4 * kDim, 5, DType::kBF16);
    const AttentionRun settings{
        .heads = 4, .params = {.scale = 0.2f}, .tiles = {.shape = shape, .parts = 2}};
    const auto forward = run(plan, cache, q, settings);
    const WithOrder backward(cuda_on_cpu::Order::kBackward);
    EXPECT_EQ(run(plan, cache, q, settings), forward);
  }
}
#endif

}  // namespace
}  // namespace reprise::kernels::cuda
