// Compares maps of many rows, which are applied as matrix products, with their definition.
#include <gtest/gtest.h>

#include <cmath>

#include "core/kernels/attention_map/attention_map.h"
#include "core/kernels/attention_map/reference/attention_map.h"
#include "tests/core/kernels/attention/attention_cases.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using testing::RandomCache;

constexpr int64_t kHeads = 6, kKvHeads = 2, kBlockTokens = 7;

// A map in one of its formats, with room for more rows and keys than are used: f32, bf16, bytes.
struct HeldMap {
  enum class Format { kF32, kBF16, kBytes };
  std::vector<float> scales;
  std::vector<uint8_t> bytes;
  Tensor values;
  MapView view;

  HeldMap(Format format, int64_t rows, int64_t keys, uint64_t seed) {
    const int64_t held_rows = rows + 2, held_keys = keys + 3;
    const DType dtype = format == Format::kBF16 ? DType::kBF16 : DType::kF32;
    const std::vector<float> random =
        reprise::testing::random_values(kHeads * held_rows * held_keys, seed, dtype);
    if (format == Format::kBytes) {
      for (const float value : random)
        bytes.push_back(static_cast<uint8_t>(std::min(255.0f, std::abs(value) * 90)));
      scales = reprise::testing::random_values(kHeads * held_rows, seed + 1);
      view = contiguous_map(bytes.data(), dtype, kHeads, held_rows, held_keys);
      view.row_scales = scales.data();
      view.scale_head_stride = held_rows;
    } else {
      values = reprise::testing::tensor_of(random, dtype);
      view = contiguous_map(values.data(), dtype, kHeads, held_rows, held_keys);
    }
    view.rows = rows;
  }
};

// The largest sum of |weight * value| that an element can have; rounding errors are relative to it.
double scale_of(const MapView& map, int64_t keys) {
  return (map.row_scales != nullptr ? 255.0 * 4 : 4.0) * 4 * static_cast<double>(keys);
}

kv::AttentionPlan shared_then_causal(const RandomCache& cache, int32_t shared, int32_t rows,
                                     bool masks_the_first = false) {
  kv::AttentionPlan plan;
  plan.caches = {cache.view};
  int64_t block = 0;
  const auto next = [&] { return block++; };
  const int32_t first = testing::add_segment(plan, cache, shared, 0, next);
  const int32_t second = testing::add_segment(plan, cache, rows, shared, next);
  for (int32_t row = 0; row < rows; ++row) testing::add_row(plan, shared + row);
  plan.items = {{.segment = first, .first_row = 0, .end_row = rows},
                {.segment = second,
                 .first_row = 0,
                 .end_row = rows,
                 .mask = kv::Mask::kCausal,
                 .visible = 1}};
  if (masks_the_first) {
    plan.items[0].mask = kv::Mask::kCausal;
    plan.items[0].visible = 1;
  }
  plan.finish();
  return plan;
}

// Several texts, one after the other. Each row sees all tokens of its text.
kv::AttentionPlan texts(const RandomCache& cache, std::initializer_list<int32_t> lengths) {
  kv::AttentionPlan plan;
  plan.caches = {cache.view};
  int64_t block = 0;
  for (const int32_t tokens : lengths) {
    const int32_t segment = testing::add_segment(plan, cache, tokens, 0, [&] { return block++; });
    const int32_t first = plan.rows();
    for (int32_t row = 0; row < tokens; ++row) testing::add_row(plan, row);
    plan.items.push_back({.segment = segment, .first_row = first, .end_row = first + tokens});
  }
  plan.finish();
  return plan;
}

class ApplyMap : public ::testing::TestWithParam<DType> {
 protected:
  void expect_right(const kv::AttentionPlan& plan, const std::string& what) {
    for (const auto format :
         {HeldMap::Format::kF32, HeldMap::Format::kBF16, HeldMap::Format::kBytes}) {
      std::vector<RowMap> parts;
      std::vector<HeldMap> held;
      held.reserve(8);
      // Two maps share the rows: the second begins within a text, or with the next one.
      const int64_t cut = plan.rows() * 2 / 3;
      for (const auto& [first, rows] : {std::pair{int64_t{0}, cut}, {cut, plan.rows() - cut}}) {
        if (rows == 0) continue;
        held.emplace_back(format, rows, most_keys(plan), 10 + static_cast<uint64_t>(first));
        parts.push_back({.first_row = static_cast<int32_t>(first), .map = held.back().view});
      }
      const std::vector<double> want = reference::apply_map(plan, 1, parts, kHeads);
      const double scale = scale_of(parts[0].map, most_keys(plan));
      for (const Isa isa : available_isas())
        for (const int threads : {1, 3})
          for (const DType out_dtype : {DType::kF32, DType::kBF16}) {
            Tensor out(out_dtype, {static_cast<int64_t>(want.size())});
            apply_map(plan, 1, parts, kHeads, {.data = out.data(), .dtype = out_dtype},
                      {.threads = threads, .isa = isa});
            const std::vector<float> got = reprise::testing::values_of(out);
            for (size_t i = 0; i < got.size(); ++i)
              ASSERT_NEAR(
                  got[i], want[i],
                  0x1p-23 * scale + (out_dtype == DType::kF32 ? 0.0 : 0x1p-8 * std::abs(want[i])))
                  << what << " " << name_of(isa) << " format " << static_cast<int>(format)
                  << " element " << i;
          }
    }
  }
};

TEST_P(ApplyMap, RowsOfAPromptMatchTheDefinitionAtEveryShape) {
  for (const int64_t head_dim : {16, 64, 100, 128}) {
    const RandomCache cache(GetParam(), 20, 2, kKvHeads, kBlockTokens, head_dim, 3);
    for (const int32_t rows : {1, 7, 8, 25, 50, 61})
      expect_right(testing::causal_plan(cache, 0, rows),
                   "dim " + std::to_string(head_dim) + " rows " + std::to_string(rows));
  }
}

TEST_P(ApplyMap, SegmentsBlocksAndTextsMatchTheDefinition) {
  const RandomCache cache(GetParam(), 20, 2, kKvHeads, kBlockTokens, 72, 3);
  for (const int32_t shared : {1, 6, 7, 16})
    expect_right(shared_then_causal(cache, shared, 33), "shared " + std::to_string(shared));
  expect_right(shared_then_causal(cache, 9, 33, /*masks_the_first=*/true), "keys with a gap");
  expect_right(texts(cache, {30, 19, 3, 12}), "texts");
  expect_right(testing::causal_plan(cache, 11, 40), "behind others");
}

// Maps of many rows are computed by products, too.
TEST_P(ApplyMap, MapsOfPromptsAreComputedByTheirDefinition) {
  const std::vector<float> slopes = {0.5f, 0.25f, 0.125f, 0.0625f, 0.03f, 0.01f};
  for (const int64_t head_dim : {16, 100}) {
    const RandomCache cache(GetParam(), 20, 2, kKvHeads, kBlockTokens, head_dim, 3);
    for (const kv::AttentionPlan& plan :
         {testing::causal_plan(cache, 0, 61), testing::causal_plan(cache, 11, 70),
          shared_then_causal(cache, 9, 33), shared_then_causal(cache, 9, 33, true),
          texts(cache, {30, 19, 3})}) {
      const int64_t rows = plan.rows(), stride = kHeads * head_dim + 5;
      const std::vector<float> q = testing::random_queries(rows * stride, 4);
      const QueryView view{.data = q.data(), .row_stride = stride, .heads = kHeads};
      const std::vector<float> bias = testing::random_queries(kHeads * rows * most_keys(plan), 5);
      const AttentionParams params[] = {{.scale = 0.1f},
                                        {.scale = 0.1f, .window = 12, .alibi = {.slopes = slopes}}};
      for (const AttentionParams& param : params)
        for (const float* terms : {static_cast<const float*>(nullptr), bias.data()}) {
          const std::vector<double> want = reference::attention_map(plan, 1, view, param, terms);
          for (const Isa isa : available_isas()) {
            std::vector<float> got(want.size(), -1.0f);
            attention_map(plan, 1, view, param, terms, got.data(), {.threads = 2, .isa = isa});
            // Scores up to 8 with some 100 roundings each, then one exponential.
            for (size_t i = 0; i < got.size(); ++i)
              ASSERT_NEAR(got[i], want[i], 100 * 8 * 0x1p-24) << rows << " element " << i;
          }
        }
    }
  }
}

TEST_P(ApplyMap, ThreadsAndNeighboursChangeNoBit) {
  const RandomCache cache(GetParam(), 20, 2, kKvHeads, kBlockTokens, 64, 3);
  const kv::AttentionPlan plan = testing::causal_plan(cache, 0, 60);
  const HeldMap held(HeldMap::Format::kBF16, 60, 60, 5);
  const RowMap whole{.map = held.view};
  const auto run = [&](int threads) {
    std::vector<float> out(60 * kHeads * 64);
    apply_map(plan, 1, {&whole, 1}, kHeads, {.data = out.data()},
              {.threads = threads, .isa = best_isa()});
    return out;
  };
  EXPECT_EQ(run(1), run(4));
}

INSTANTIATE_TEST_SUITE_P(Caches, ApplyMap,
                         ::testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                         [](const auto& param) { return std::string(name_of(param.param)); });

}  // namespace
}  // namespace reprise::kernels
