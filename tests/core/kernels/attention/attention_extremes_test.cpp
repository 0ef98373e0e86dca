// Tests softmax at its edges, through attention: scores that would overflow a naive exponential,
// ties, rows and tiles that see nothing, NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/kernels/attention/attention.h"
#include "core/kernels/attention/reference/attention.h"
#include "tests/core/kernels/attention/attention_cases.h"
#include "tests/core/kernels/attention/explained.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using testing::RandomCache;

constexpr DType kAllDtypes[] = {DType::kF32, DType::kBF16, DType::kF16};

// A tile's scores are computed in two ways: one for a single row, one for many lanes.
constexpr int32_t kRowCounts[] = {1, 40};

std::vector<float> run(const kv::AttentionPlan& plan, const std::vector<float>& q, int64_t heads,
                       const AttentionParams& params, Isa isa) {
  const int64_t row = heads * plan.head_dim();
  std::vector<float> out(static_cast<size_t>(plan.rows() * row), 55.0f);
  AttentionWorkspace workspace;
  attention(plan, 0, {.data = q.data(), .row_stride = row, .heads = heads}, params,
            {.data = out.data()}, workspace, {.threads = 2, .isa = isa});
  return out;
}

void fill(Tensor& tensor, float value) {
  visit_dtype(tensor.dtype(), [&](auto tag) {
    using T = decltype(tag);
    std::fill_n(tensor.as<T>(), tensor.elements(), T(value));
  });
}

void set_row(Tensor& tensor, int64_t token, int64_t dim, float value) {
  visit_dtype(tensor.dtype(), [&](auto tag) {
    using T = decltype(tag);
    std::fill_n(tensor.as<T>() + token * dim, dim, T(value));
  });
}

// `rows` query rows that all see every token of the cache.
kv::AttentionPlan full_plan(const RandomCache& cache, int32_t tokens, int32_t rows) {
  kv::AttentionPlan plan;
  plan.caches = {cache.view};
  for (int32_t row = 0; row < rows; ++row) testing::add_row(plan, tokens);
  int64_t block = 0;
  const int32_t id = testing::add_segment(plan, cache, tokens, 0, [&] { return block++; });
  plan.items.push_back({.segment = id, .first_row = 0, .end_row = rows});
  plan.finish();
  return plan;
}

// Equal scores, however large, weigh all values alike, so the output is the mean. In f32, a sum of
// n terms of magnitude ~1 is off by n 2^-24; weights of 1 are exact in bf16.
TEST(AttentionExtremes, EqualScoresGiveTheMeanOfTheValues) {
  constexpr int64_t kDim = 32;
  constexpr int32_t kTokens = 300;
  for (DType dtype : kAllDtypes)
    for (int32_t rows : kRowCounts)
      for (float key : {0.0f, 1.0f, -1.0f, 64.0f, -64.0f}) {
        RandomCache cache(dtype, 1, 1, 1, kTokens, kDim, 3);
        fill(cache.keys, key);
        const kv::AttentionPlan plan = full_plan(cache, kTokens, rows);
        const std::vector<float> q(static_cast<size_t>(rows * kDim), 8.0f);  // scores to +-16384
        const QueryView view{.data = q.data(), .row_stride = kDim, .heads = 1};
        const std::vector<double> want = reference::attention(plan, 0, view, {.scale = 1.0f});
        for (Isa isa : available_isas()) {
          const std::vector<float> got = run(plan, q, 1, {.scale = 1.0f}, isa);
          for (size_t i = 0; i < got.size(); ++i)
            ASSERT_NEAR(got[i], want[i], 4.0 * kTokens * 0x1p-24)
                << name_of(dtype) << " " << name_of(isa) << " key " << key << " rows " << rows;
        }
      }
}

// A key whose score is far above all others takes all the weight, wherever it stands. The bf16
// kernel's exponential is good to 3e-6, so its 2^0 need not be 1.
TEST(AttentionExtremes, HugeScoreTakesAllTheWeight) {
  constexpr int64_t kDim = 16;
  constexpr int32_t kTokens = 290;
  for (DType dtype : kAllDtypes)
    for (int32_t rows : kRowCounts)
      for (int64_t winner : {0, 1, 127, 128, 200, 289})
        for (float sign : {1.0f, -1.0f}) {
          RandomCache cache(dtype, 1, 1, 1, kTokens, kDim, 3);
          fill(cache.keys, -sign * 30000.0f);
          set_row(cache.keys, winner, kDim, sign * 30000.0f);
          const kv::AttentionPlan plan = full_plan(cache, kTokens, rows);
          // Scores of +-30000 * 16 * 2000 = 1e9.
          const std::vector<float> q(static_cast<size_t>(rows * kDim), sign * 2000.0f);
          for (Isa isa : available_isas()) {
            const std::vector<float> got = run(plan, q, 1, {.scale = 1.0f}, isa);
            visit_dtype(dtype, [&](auto tag) {
              const auto* value = cache.values.as<decltype(tag)>() + winner * kDim;
              for (size_t i = 0; i < got.size(); ++i)
                ASSERT_NEAR(got[i], static_cast<float>(value[i % kDim]),
                            has_bf16_dot(isa) && dtype == DType::kBF16 ? 4.0 * 3e-6 : 0.0)
                    << name_of(dtype) << " " << name_of(isa) << " winner " << winner;
            });
          }
        }
}

// Rows in the middle of a tile that see no key at all, no key of a whole tile, or only its last
// key.
TEST(AttentionExtremes, RowsThatSeeNothingAreZeroAmongRowsThatSee) {
  constexpr int64_t kDim = 24;
  for (DType dtype : kAllDtypes)
    for (int64_t window : {1, 5}) {
      const RandomCache cache(dtype, 1, 1, 1, 400, kDim, 3);
      kv::AttentionPlan plan;
      plan.caches = {cache.view};
      // The window ends behind the segment for rows of position 500, and starts in it for others.
      for (int32_t row = 0; row < 40; ++row) testing::add_row(plan, row % 3 == 0 ? 500 : 10 * row);
      int64_t block = 0;
      const int32_t id = testing::add_segment(plan, cache, 400, 0, [&] { return block++; });
      plan.items.push_back(
          {.segment = id, .first_row = 0, .end_row = 40, .mask = kv::Mask::kCausal, .visible = -5});
      plan.finish();
      const std::vector<float> q = testing::random_queries(40 * kDim, 4);
      const AttentionParams params{.scale = 0.2f, .window = window};
      const QueryView view{.data = q.data(), .row_stride = kDim, .heads = 1};
      const auto want = reference::attention_with_errors(plan, 0, view, params);
      for (Isa isa : available_isas()) {
        const std::vector<float> got = run(plan, q, 1, params, isa);
        testing::expect_explained(got, want, testing::cpu_rounding(plan, isa),
                                  std::string(name_of(isa)));
        for (size_t row = 0; row < 40; row += 3)
          for (size_t c = 0; c < kDim; ++c)
            ASSERT_EQ(got[row * kDim + c], 0.0f) << name_of(isa) << " row " << row;
      }
    }
}

TEST(AttentionExtremes, RowWithoutAnyItemIsZero) {
  const RandomCache cache(DType::kF32, 1, 1, 1, 8, 16, 3);
  kv::AttentionPlan plan;
  plan.caches = {cache.view};
  for (int32_t row = 0; row < 3; ++row) testing::add_row(plan, 8);
  const int32_t id = testing::add_segment(plan, cache, 8, 0, [] { return 0; });
  plan.items.push_back({.segment = id, .first_row = 1, .end_row = 2});
  plan.finish();
  const std::vector<float> q = testing::random_queries(3 * 16, 1);
  for (Isa isa : available_isas()) {
    const std::vector<float> got = run(plan, q, 1, {.scale = 0.25f}, isa);
    for (size_t c = 0; c < 16; ++c) {
      EXPECT_EQ(got[c], 0.0f);
      EXPECT_NE(got[16 + c], 0.0f);
      EXPECT_EQ(got[32 + c], 0.0f);
    }
  }
}

TEST(AttentionExtremes, EmptyPlansSegmentsAndItemListsAreFine) {
  const RandomCache cache(DType::kBF16, 1, 1, 1, 8, 16, 3);
  kv::AttentionPlan empty;
  empty.caches = {cache.view};
  empty.finish();
  kv::AttentionPlan no_tokens = full_plan(cache, 0, 2);
  const std::vector<float> q = testing::random_queries(2 * 16, 1);
  for (Isa isa : available_isas()) {
    EXPECT_TRUE(run(empty, q, 1, {}, isa).empty());
    EXPECT_EQ(run(no_tokens, q, 1, {}, isa), std::vector<float>(32, 0.0f));
  }
}

// When parts are merged, -inf stays apart from numbers: a part that sees nothing changes nothing.
TEST(AttentionExtremes, MergeWithAPartThatSeesNothingIsIdentity) {
  constexpr int64_t kDim = 16;
  for (DType dtype : kAllDtypes) {
    const RandomCache cache(dtype, 2, 1, 1, 50, kDim, 3);
    kv::AttentionPlan alone = full_plan(cache, 50, 4), merged = alone;
    const int32_t id = testing::add_segment(merged, cache, 50, 0, [] { return 1; });
    for (int i = 0; i < 2; ++i)  // before and after
      merged.items.insert(
          i == 0 ? merged.items.begin() : merged.items.end(),
          {.segment = id, .first_row = 0, .end_row = 4, .mask = kv::Mask::kCausal, .visible = -10});
    merged.finish();
    const std::vector<float> q = testing::random_queries(4 * kDim, 1);
    for (Isa isa : available_isas()) {
      const auto want = run(alone, q, 1, {.scale = 0.25f}, isa),
                 got = run(merged, q, 1, {.scale = 0.25f}, isa);
      // 1 / n is applied once, in the tile or in the merge, so both results have the same two
      // roundings.
      for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 8 * 0x1p-24);
    }
  }
}

// Two parts whose scores are a thousand apart: the smaller must vanish, not turn into NaN.
TEST(AttentionExtremes, MergeOfPartsFarApartKeepsTheLarger) {
  constexpr int64_t kDim = 16;
  for (DType dtype : kAllDtypes) {
    RandomCache cache(dtype, 2, 1, 1, 8, kDim, 3);
    fill(cache.keys, -64.0f);
    for (int64_t token = 0; token < 8; ++token) set_row(cache.keys, token, kDim, 64.0f);
    kv::AttentionPlan plan = full_plan(cache, 8, 3);
    const int32_t id = testing::add_segment(plan, cache, 8, 0, [] { return 1; });
    plan.items.push_back({.segment = id, .first_row = 0, .end_row = 3});
    plan.finish();
    const std::vector<float> q(3 * kDim, 1.0f);
    const std::vector<double> want = reference::attention(
        plan, 0, {.data = q.data(), .row_stride = kDim, .heads = 1}, {.scale = 1.0f});
    for (Isa isa : available_isas()) {
      const std::vector<float> got = run(plan, q, 1, {.scale = 1.0f}, isa);
      for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 32 * 0x1p-24);
    }
  }
}

// A corrupt query or key must show in the result, so that sampling can report it.
TEST(AttentionExtremes, NanInAQueryOrKeyReachesTheRowsThatSeeIt) {
  constexpr int64_t kDim = 16;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (DType dtype : kAllDtypes)
    for (int32_t rows : kRowCounts)
      for (int64_t token : {0, 64, 199}) {
        RandomCache cache(dtype, 1, 1, 1, 200, kDim, 3);
        const kv::AttentionPlan plan = full_plan(cache, 200, rows);
        std::vector<float> q = testing::random_queries(rows * kDim, 1);
        q[3] = kNan;
        for (Isa isa : available_isas()) {
          const std::vector<float> got = run(plan, q, 1, {.scale = 0.25f}, isa);
          for (size_t i = 0; i < got.size(); ++i)
            ASSERT_EQ(std::isnan(got[i]), i < kDim)
                << "query, " << name_of(dtype) << " " << name_of(isa) << " rows " << rows;
        }
        q[3] = 1.0f;
        set_row(cache.keys, token, kDim, kNan);
        for (Isa isa : available_isas()) {
          const std::vector<float> got = run(plan, q, 1, {.scale = 0.25f}, isa);
          for (float value : got)
            ASSERT_TRUE(std::isnan(value)) << "key " << token << ", " << name_of(dtype) << " "
                                           << name_of(isa) << " rows " << rows;
        }
      }
}

TEST(AttentionExtremes, OddHeadSizesMatchTheReference) {
  for (DType dtype : kAllDtypes)
    for (int64_t dim : {1, 3, 7, 15, 17, 31, 33, 255})
      for (int32_t rows : {1, 9, 30}) {
        const RandomCache cache(dtype, 1, 1, 1, 60, dim, 3);
        const kv::AttentionPlan plan = testing::causal_plan(cache, 60 - rows, rows);
        const std::vector<float> q = testing::random_queries(rows * 3 * dim, 5);
        const AttentionParams params{.scale = 1.0f / std::sqrt(static_cast<float>(dim))};
        const std::vector<double> want = reference::attention(
            plan, 0, {.data = q.data(), .row_stride = 3 * dim, .heads = 3}, params);
        for (Isa isa : available_isas()) {
          const std::vector<float> got = run(plan, q, 3, params, isa);
          // An odd size is computed in f32 throughout; the bound is that of attention_test.
          for (size_t i = 0; i < got.size(); ++i)
            ASSERT_NEAR(got[i], want[i], 0x1p-16) << name_of(dtype) << " dim " << dim;
        }
      }
}

TEST(AttentionExtremes, TooLargeHeadsAreAShapeError) {
  const RandomCache cache(DType::kF32, 1, 1, 1, 2, 257, 3);
  const kv::AttentionPlan plan = testing::causal_plan(cache, 0, 2);
  const std::vector<float> q(2 * 257);
  EXPECT_THROW(run(plan, q, 1, {}, best_isa()), ShapeError);
}

}  // namespace
}  // namespace reprise::kernels
