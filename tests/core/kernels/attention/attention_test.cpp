#include "core/kernels/attention/attention.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/kernels/attention/reference/attention.h"
#include "tests/core/kernels/attention/attention_checks.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using testing::RandomCache;

void expect_near(const std::vector<float>& got, const std::vector<double>& want, double bound,
                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  double worst = 0.0;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_FALSE(std::isnan(got[i])) << what << " element " << i;
    worst = std::max(worst, std::abs(static_cast<double>(got[i]) - want[i]));
  }
  EXPECT_LE(worst, bound) << what;
}

using testing::check_all_isas;
using testing::Heads;
using testing::kAllDtypes;
using testing::plain;
using testing::run;

TEST(Attention, CausalPrefillMatchesTheReferenceAtEveryEdge) {
  uint64_t seed = 1;
  for (DType dtype : kAllDtypes)
    for (const Heads& heads : {Heads{2, 2, 64}, Heads{4, 2, 128}, Heads{6, 1, 80}, Heads{3, 3, 16},
                               Heads{2, 1, 10}, Heads{1, 1, 256}})
      for (const auto& [past, rows] : {std::pair{0, 1},
                                       {0, 2},
                                       {0, 33},
                                       {127, 1},
                                       {128, 1},
                                       {5, 63},
                                       {64, 64},
                                       {1, 65},
                                       {100, 130}}) {
        const RandomCache cache(dtype, 1, 2, heads.kv_heads, past + rows, heads.head_dim, ++seed);
        check_all_isas(testing::causal_plan(cache, past, rows), heads, plain(heads.head_dim), seed,
                       "past " + std::to_string(past) + " rows " + std::to_string(rows) + " dim " +
                           std::to_string(heads.head_dim),
                       DType::kF32, 1);
      }
}

TEST(Attention, WritesBf16Results) {
  for (DType dtype : kAllDtypes) {
    const RandomCache cache(dtype, 1, 1, 2, 90, 72, 5);
    check_all_isas(testing::causal_plan(cache, 20, 70), {4, 2, 72}, plain(72), 3, "bf16 out",
                   DType::kBF16);
  }
}

TEST(Attention, SlidingWindowHidesOldKeys) {
  for (DType dtype : kAllDtypes)
    for (int64_t window : {1, 7, 64, 200}) {
      const RandomCache cache(dtype, 1, 1, 1, 300, 32, 7);
      AttentionParams params = plain(32);
      params.window = window;
      check_all_isas(testing::causal_plan(cache, 130, 170), {4, 1, 32}, params, 11,
                     "window " + std::to_string(window));
      check_all_isas(testing::causal_plan(cache, 299, 1), {4, 1, 32}, params, 11,
                     "decode window " + std::to_string(window));
    }
}

TEST(Attention, AlibiAddsADistancePenaltyPerHead) {
  const std::vector<float> slopes = {0.5f, 0.25f, 0.125f, 0.0625f};
  for (DType dtype : kAllDtypes)
    for (bool rounded : {false, true})
      for (const auto& [past, rows] : {std::pair{200, 1}, {3, 150}, {0, 7}}) {
        const RandomCache cache(dtype, 1, 1, 2, past + rows, 64, 13);
        AttentionParams params = plain(64);
        params.alibi = {.slopes = slopes, .rounded_to_bf16 = rounded, .factor = params.scale};
        check_all_isas(testing::causal_plan(cache, past, rows), {4, 2, 64}, params, 17,
                       std::string("alibi rounded ") + (rounded ? "yes" : "no") + " rows " +
                           std::to_string(rows));
      }
}

// The heads of a paged cache are computed in turn; each must use its own slope.
TEST(Attention, AlibiSlopesFollowTheHeadsOfABlock) {
  const std::vector<float> slopes = {0.5f, 0.25f, 0.125f, 0.0625f};
  for (DType dtype : kAllDtypes)
    for (bool rounded : {false, true}) {
      const RandomCache cache(dtype, 32, 1, 4, 16, 64, 19);
      kv::AttentionPlan plan;
      plan.caches = {cache.view};
      int64_t block = 0;
      for (int row = 0; row < 2; ++row) {
        testing::add_row(plan, 199 + row);
        const int32_t id =
            testing::add_segment(plan, cache, 200 + row, 0, [&] { return block++ % 32; });
        plan.items.push_back({.segment = id, .first_row = row, .end_row = row + 1});
      }
      plan.finish();
      AttentionParams params = plain(64);
      params.alibi = {.slopes = slopes, .rounded_to_bf16 = rounded, .factor = params.scale};
      check_all_isas(plan, {4, 4, 64}, params, 23,
                     std::string("alibi rounded ") + (rounded ? "yes" : "no"));
    }
}

TEST(Attention, RowThatSeesNoKeyIsZero) {
  const RandomCache cache(DType::kF32, 1, 1, 1, 16, 32, 1);
  kv::AttentionPlan plan = testing::causal_plan(cache, 0, 16);
  plan.items[0].visible = -3;  // rows 0..3 see nothing
  plan.finish();
  check_all_isas(plan, {2, 1, 32}, plain(32), 2, "nothing visible");
}

// Short blocks, many kv heads and few rows: then as many heads are read together as fit into a
// worker's scratch. AddressSanitizer would see a write behind it.
TEST(Attention, PrefixOfAPagedCacheMatchesTheReferenceForFewRows) {
  constexpr int64_t kHeads = 32;
  constexpr int32_t kPrefix = 136, kOwn = 32;  // 2 threads then take 16 of the prefix's heads each
  for (DType dtype : kAllDtypes)
    for (int64_t block_tokens : {16, 32})
      for (int64_t head_dim : {64, 128}) {
        const RandomCache cache(dtype, 40, 1, kHeads, block_tokens, head_dim, 29);
        for (int32_t rows : {5, 6, 7, 8}) {
          int64_t block = 0;
          const kv::AttentionPlan plan = testing::prefix_plan(
              cache, kPrefix, kOwn, rows, [&] { return block++ * 7 % cache.blocks; });
          const int64_t row = kHeads * head_dim;
          const std::vector<float> q = testing::random_queries(rows * row, 31);
          const QueryView view{.data = q.data(), .row_stride = row, .heads = kHeads};
          const auto want = reference::attention_with_errors(plan, 0, view, plain(head_dim));
          for (Isa isa : available_isas())
            for (int threads : {1, 2})
              testing::expect_explained(
                  run(plan, 0, view, plain(head_dim), isa, DType::kF32, threads), want,
                  testing::cpu_rounding(plan, isa),
                  fmt::format("{} blocks of {} d {} rows {} {} threads {}", name_of(dtype),
                              block_tokens, head_dim, rows, name_of(isa), threads));
        }
      }
}

// However keys are cut into segments, shared or private, in blocks of any size, the output is the
// same.
TEST(Attention, RandomPlansMatchTheReference) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    testing::check_random_plan(pick, seed);
  }
}

TEST(Attention, ResultDoesNotDependOnTheNumberOfThreads) {
  const RandomCache cache(DType::kBF16, 1, 1, 2, 200, 64, 3);
  // With 145 rows, the last task has 4 lanes with several threads and 68 with one.
  const kv::AttentionPlan plan = testing::causal_plan(cache, 50, 145);
  const std::vector<float> q = testing::random_queries(145 * 8 * 64, 5);
  const QueryView view{.data = q.data(), .row_stride = 8 * 64, .heads = 8};
  const auto one = run(plan, 0, view, plain(64), best_isa(), DType::kF32, 1);
  for (int threads : {2, 3, 7})
    EXPECT_EQ(one, run(plan, 0, view, plain(64), best_isa(), DType::kF32, threads));
}

TEST(Attention, PartialsMergeToTheWhole) {
  const RandomCache cache(DType::kF32, 8, 1, 2, 32, 64, 3);
  kv::AttentionPlan plan;
  plan.caches = {cache.view};
  for (int row = 0; row < 5; ++row) testing::add_row(plan, 300);
  int64_t block = 0;
  for (int i = 0; i < 2; ++i) {
    const int32_t id = testing::add_segment(plan, cache, 100, 100 * i, [&] { return block++; });
    plan.items.push_back({.segment = id, .first_row = 0, .end_row = 5});
  }
  plan.finish();
  const std::vector<float> q = testing::random_queries(5 * 4 * 64, 5);
  const QueryView view{.data = q.data(), .row_stride = 4 * 64, .heads = 4};
  AttentionWorkspace workspace;
  const Context context{.threads = 2, .isa = best_isa()};
  const AttentionParams params = plain(64);
  workspace.schedule.build(plan, 4, params, context, RowResults::kPartial);
  partial_attention({.plan = plan, .schedule = workspace.schedule, .params = params}, 0, view,
                    workspace, context);
  std::vector<float> out(5 * 4 * 64);
  merge_partials(workspace.schedule, workspace.partials, {.data = out.data()}, context);
  expect_near(out, reference::attention(plan, 0, view, plain(64)), 0x1p-16, "two halves");
}

TEST(Attention, UnevenHeadsAreAShapeError) {
  const RandomCache cache(DType::kF32, 1, 1, 3, 4, 8, 3);
  const kv::AttentionPlan plan = testing::causal_plan(cache, 0, 4);
  const std::vector<float> q(4 * 4 * 8);
  float out[4 * 4 * 8];
  AttentionWorkspace workspace;
  EXPECT_THROW(attention(plan, 0, {.data = q.data(), .row_stride = 32, .heads = 4}, plain(8),
                         {.data = out}, workspace, {}),
               ShapeError);
}

}  // namespace
}  // namespace reprise::kernels
