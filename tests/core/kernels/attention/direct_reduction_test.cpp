// Tests merging partial results while others are still computed (kv::Reduction::kDirect).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tests/core/kernels/attention/attention_checks.h"

namespace reprise::kernels {
namespace {

using testing::RandomCache;

// `shared` segments of `tokens` tokens each, which all rows read, and a segment of `own` tokens for
// each row.
kv::AttentionPlan direct_plan(const RandomCache& cache, int32_t rows, int shared, int32_t tokens,
                              int32_t own) {
  kv::AttentionPlan plan;
  plan.begin(cache.view);
  int64_t block = 0;
  const auto next_block = [&] { return block++ % cache.blocks; };
  for (int32_t row = 0; row < rows; ++row) testing::add_row(plan, shared * tokens + own);
  for (int part = 0; part < shared; ++part)
    plan.add_item({.segment = testing::add_segment(plan, cache, tokens, part * tokens, next_block),
                   .first_row = 0,
                   .end_row = rows});
  for (int32_t row = 0; row < rows && own > 0; ++row)
    plan.add_item({.segment = testing::add_segment(plan, cache, own, shared * tokens, next_block),
                   .first_row = row,
                   .end_row = row + 1});
  plan.finish();
  plan.reduction = kv::Reduction::kDirect;
  return plan;
}

// Compares every instruction set with the definition, on 1, 2 and 5 threads. Several threads add in
// another order each time, so each case is computed several times.
void check_direct(const kv::AttentionPlan& plan, const testing::Heads& heads,
                  const AttentionParams& params, uint64_t seed, const std::string& what) {
  const int64_t stride = heads.heads * heads.head_dim;
  const std::vector<float> q = testing::random_queries(plan.rows() * stride, seed);
  const QueryView view{.data = q.data(), .row_stride = stride, .heads = heads.heads};
  const auto want = reference::attention_with_errors(plan, 0, view, params);
  for (const Isa isa : reprise::testing::available_isas())
    for (const int threads : {1, 2, 5, 5})
      testing::expect_explained(testing::run(plan, 0, view, params, isa, DType::kF32, threads),
                                want, testing::cpu_rounding(plan, isa, DType::kF32),
                                fmt::format("{}, {}, {} threads", what, name_of(isa), threads));
}

TEST(DirectReduction, EqualChunksGiveTheDefinition) {
  for (const DType dtype : testing::kAllDtypes) {
    const RandomCache cache(dtype, 16, 1, 4, 64, 64, 3);
    check_direct(direct_plan(cache, 9, 6, 64, 64), {8, 4, 64}, testing::plain(64), 1, "chunks");
  }
}

// All tasks add to the same entries.
TEST(DirectReduction, OneHeadOfOneRowInManyChunks) {
  const RandomCache cache(DType::kF32, 40, 1, 1, 16, 32, 4);
  check_direct(direct_plan(cache, 1, 40, 16, 0), {1, 1, 32}, testing::plain(32), 2, "one head");
}

TEST(DirectReduction, OddLengthsAndHeadSizes) {
  const RandomCache cache(DType::kBF16, 32, 1, 3, 24, 72, 5);
  for (const int32_t tokens : {1, 7, 23, 25, 131})
    check_direct(direct_plan(cache, 5, 3, tokens, tokens + 2), {9, 3, 72}, testing::plain(72), 3,
                 fmt::format("{} tokens", tokens));
}

TEST(DirectReduction, RandomPlansWithWindowsMasksAndRowsWithoutKeys) {
  std::mt19937_64 random(17);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int round = 0; round < 12; ++round)
    testing::check_random_plan(pick, static_cast<uint64_t>(round), 64, kv::Reduction::kDirect);
}

// A row that no item covers becomes 0, and so does one whose items hold no token.
TEST(DirectReduction, RowsWithoutKeysBecomeZero) {
  const RandomCache cache(DType::kF32, 2, 1, 2, 16, 32, 6);
  kv::AttentionPlan plan = direct_plan(cache, 2, 2, 0, 0);
  testing::add_row(plan, 1);
  plan.finish();
  const std::vector<float> q = testing::random_queries(3 * 2 * 32, 7);
  const std::vector<float> out =
      testing::run(plan, 0, {.data = q.data(), .row_stride = 64, .heads = 2}, testing::plain(32),
                   Isa::kPortable, DType::kF32, 2);
  for (const float value : out) EXPECT_EQ(value, 0.0f);
}

// A NaN must show in the result.
TEST(DirectReduction, NotANumberStaysVisible) {
  RandomCache cache(DType::kF32, 4, 1, 1, 16, 32, 8);
  cache.keys.as<float>()[cache.offset_of(1)] = std::numeric_limits<float>::quiet_NaN();
  const kv::AttentionPlan plan = direct_plan(cache, 1, 4, 16, 0);
  const std::vector<float> q(32, 1.0f);
  for (const int threads : {1, 4}) {
    const std::vector<float> out =
        testing::run(plan, 0, {.data = q.data(), .row_stride = 32, .heads = 1}, testing::plain(32),
                     Isa::kPortable, DType::kF32, threads);
    EXPECT_TRUE(std::isnan(out[0])) << threads << " threads";
  }
}

// There is one entry for each row and head, however many parts there are.
TEST(DirectReduction, NeedsMemoryForEachRowOnce) {
  const RandomCache cache(DType::kF32, 16, 1, 2, 16, 32, 9);
  kv::AttentionPlan plan = direct_plan(cache, 3, 8, 16, 16);
  AttentionSchedule direct, merged;
  direct.build(plan, 2, testing::plain(32), {.threads = 2});
  plan.reduction = kv::Reduction::kMerge;
  merged.build(plan, 2, testing::plain(32), {.threads = 2});
  EXPECT_EQ(direct.entries, 3 * 2);
  EXPECT_EQ(merged.entries, 3 * 2 * (8 + 1));
}

TEST(DirectReduction, AnotherDeviceRefusesItAndNamesTheOption) {
  const RandomCache cache(DType::kF32, 2, 1, 1, 16, 32, 10);
  const kv::AttentionPlan plan = direct_plan(cache, 1, 2, 16, 0);
  const std::vector<int32_t> parts(plan.items.size(), 1);
  AttentionSchedule schedule;
  try {
    schedule.cut(plan, 1, testing::plain(32), {.parts = parts, .key_tile = 16});
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("direct_reduction"), std::string::npos);
  }
}

}  // namespace
}  // namespace reprise::kernels
