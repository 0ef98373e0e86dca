#include "core/kernels/attention_map/attention_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/kernels/attention/reference/attention.h"
#include "core/kernels/attention_map/reference/attention_map.h"
#include "tests/core/kernels/attention/attention_cases.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using testing::RandomCache;

constexpr int64_t kHeads = 4, kKvHeads = 2, kHeadDim = 20;

// Two sequences that share a first segment and go on in their own blocks. The rows of the first
// sequence see causally, those of the second see everything.
kv::AttentionPlan shared_plan(const RandomCache& cache) {
  kv::AttentionPlan plan;
  plan.caches = {cache.view};
  int64_t block = 0;
  const auto next = [&] { return block++; };
  const int32_t shared = testing::add_segment(plan, cache, 9, 0, next);
  const int32_t first = testing::add_segment(plan, cache, 7, 9, next);
  const int32_t second = testing::add_segment(plan, cache, 3, 9, next);
  plan.segments.back().skipped = 1;
  for (int32_t position : {13, 14, 15, 10, 11}) testing::add_row(plan, position);
  plan.items = {
      {.segment = shared, .first_row = 0, .end_row = 5},
      {.segment = first, .first_row = 0, .end_row = 3, .mask = kv::Mask::kCausal, .visible = 5},
      {.segment = second, .first_row = 3, .end_row = 5}};
  plan.finish();
  return plan;
}

struct Case {
  const char* name;
  AttentionParams params;
  bool has_bias;
};

class AttentionMap : public ::testing::TestWithParam<DType> {
 protected:
  RandomCache cache_{GetParam(), 8, 2, kKvHeads, 4, kHeadDim, 3};
  kv::AttentionPlan plan_ = shared_plan(cache_);
  std::vector<float> q_ = testing::random_queries(5 * 200, 4);
  QueryView view_{.data = q_.data(), .row_stride = 200, .heads = kHeads};
  std::vector<float> slopes_ = {0.5f, 0.25f, 0.125f, 0.0625f};
};

TEST_P(AttentionMap, MatchesTheReferenceWithEveryTermOfTheScores) {
  ASSERT_EQ(most_keys(plan_), 16);
  ASSERT_EQ(keys_of(plan_, 4), 12);
  const std::vector<float> bias = testing::random_queries(kHeads * 5 * 16, 5);
  const AttentionParams plain{.scale = 0.22f};
  for (const Case& c :
       {Case{"plain", plain, false}, Case{"bias", plain, true},
        Case{"window", {.scale = 0.22f, .window = 5}, true},
        Case{"alibi", {.scale = 0.22f, .alibi = {.slopes = slopes_}}, false},
        Case{"rounded alibi",
             {.scale = 0.22f, .alibi = {.slopes = slopes_, .rounded_to_bf16 = true, .factor = 2}},
             true}}) {
    const float* terms = c.has_bias ? bias.data() : nullptr;
    const std::vector<double> want = reference::attention_map(plan_, 1, view_, c.params, terms);
    std::vector<float> got(want.size());
    attention_map(plan_, 1, view_, c.params, terms, got.data(), {.threads = 2});
    // Scores up to 8 with some 20 roundings each, then one exponential.
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 20 * 8 * 0x1p-24) << c.name << " element " << i;
  }
}

TEST_P(AttentionMap, AppliedToItsValuesIsAttention) {
  const AttentionParams params{.scale = 0.22f, .alibi = {.slopes = slopes_}};
  std::vector<float> map(kHeads * 5 * 16);
  attention_map(plan_, 1, view_, params, nullptr, map.data(), {.threads = 2});
  const std::vector<double> want = reference::attention(plan_, 1, view_, params);
  const RowMap whole{.map = contiguous_map(map.data(), DType::kF32, kHeads, 5, 16)};
  for (Isa isa : available_isas()) {
    std::vector<float> got(want.size());
    apply_map(plan_, 1, {&whole, 1}, kHeads, {.data = got.data()}, {.threads = 2, .isa = isa});
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 1e-5) << name_of(isa) << " element " << i;
  }
}

// Each sequence's rows have a map of their own, in either dtype, with strides.
TEST_P(AttentionMap, PartsInEitherDtypeMatchTheReference) {
  for (DType map_dtype : {DType::kF32, DType::kBF16}) {
    const std::vector<float> values =
        reprise::testing::random_values(kHeads * 6 * 20, 6, map_dtype);
    const Tensor held = reprise::testing::tensor_of(values, map_dtype);
    const MapView stored = contiguous_map(held.data(), map_dtype, kHeads, 6, 20);
    MapView first = stored, second = stored;
    first.rows = 3;
    second.rows = 2;
    const RowMap parts[] = {{.first_row = 0, .map = first}, {.first_row = 3, .map = second}};
    const std::vector<double> want = reference::apply_map(plan_, 1, parts, kHeads);
    for (Isa isa : available_isas())
      for (DType out_dtype : {DType::kF32, DType::kBF16}) {
        Tensor out(out_dtype, {static_cast<int64_t>(want.size())});
        apply_map(plan_, 1, parts, kHeads, {.data = out.data(), .dtype = out_dtype},
                  {.threads = 2, .isa = isa});
        const std::vector<float> got = reprise::testing::values_of(out);
        // Sums of 16 products of normal values, then one rounding to the output's dtype.
        const double unit = out_dtype == DType::kF32 ? 0x1p-20 : 0x1p-8;
        for (size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], want[i], unit * (4 + std::abs(want[i]))) << name_of(isa);
      }
  }
}

// A map in bytes with a scale for each row. Its second part begins at row 3 of the stored map.
TEST_P(AttentionMap, MapsInBytesMatchTheReference) {
  std::vector<uint8_t> bytes(kHeads * 6 * 20);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 % 256);
  const std::vector<float> scales = testing::random_queries(kHeads * 6, 9);
  MapView stored = contiguous_map(bytes.data(), DType::kF32, kHeads, 6, 20);
  stored.row_scales = scales.data();
  stored.scale_head_stride = 6;
  MapView first = stored, second = stored;
  first.rows = 3;
  second.rows = 2;
  second.data = bytes.data() + 3 * 20;
  second.row_scales += 3;
  const RowMap parts[] = {{.first_row = 0, .map = first}, {.first_row = 3, .map = second}};
  const std::vector<double> want = reference::apply_map(plan_, 1, parts, kHeads);
  for (Isa isa : available_isas()) {
    std::vector<float> got(want.size());
    apply_map(plan_, 1, parts, kHeads, {.data = got.data()}, {.threads = 2, .isa = isa});
    // Sums of 16 products of values with weights of up to 255 scales of some 3.
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 0x1p-20 * 255 * 3 * 16) << name_of(isa) << " element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Caches, AttentionMap,
                         ::testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                         [](const auto& param) { return std::string(name_of(param.param)); });

TEST(AttentionMapErrors, MapsOfOtherShapesAreNamed) {
  const RandomCache cache(DType::kF32, 8, 1, kKvHeads, 4, kHeadDim, 3);
  const kv::AttentionPlan plan = shared_plan(cache);
  const std::vector<float> values(kHeads * 5 * 16);
  std::vector<float> out(5 * kHeads * kHeadDim);
  const auto message = [&](const MapView& map) -> std::string {
    const RowMap whole{.map = map};
    try {
      apply_map(plan, 0, {&whole, 1}, kHeads, {.data = out.data()}, {.threads = 2});
    } catch (const ShapeError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message(contiguous_map(values.data(), DType::kF32, 2, 5, 16)).find("2 heads"),
            std::string::npos);
  EXPECT_NE(message(contiguous_map(values.data(), DType::kF32, kHeads, 5, 13)).find("13 keys"),
            std::string::npos);
  EXPECT_EQ(message(contiguous_map(values.data(), DType::kF32, kHeads, 5, 16)), "");
}

}  // namespace
}  // namespace reprise::kernels
