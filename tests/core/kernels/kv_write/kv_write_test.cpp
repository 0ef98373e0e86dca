#include "core/kernels/kv_write/kv_write.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/kv/block_pool.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using reprise::testing::random_values;

float element(const void* data, DType dtype, int64_t index) {
  return visit_dtype(dtype, [&](auto tag) {
    return static_cast<float>(static_cast<const decltype(tag)*>(data)[index]);
  });
}

float rounded(float value, DType dtype) {
  return visit_dtype(
      dtype, [&](auto tag) { return static_cast<float>(static_cast<decltype(tag)>(value)); });
}

// Expects that every element of the cache is either the rounded input of the row whose slot it lies
// in, or unchanged.
void check(DType dtype, int64_t kv_heads, int64_t head_dim, Isa isa) {
  constexpr int64_t kLayers = 3, kLayer = 1;
  kv::BlockPool pool({.layers = kLayers,
                      .kv_heads = kv_heads,
                      .head_dim = head_dim,
                      .dtype = dtype,
                      .block_tokens = 4,
                      .num_blocks = 3});
  kv::AttentionPlan plan;
  plan.caches = {pool.view()};
  // Scattered over blocks, out of order.
  const std::vector<std::pair<int32_t, int32_t>> slots = {{2, 3}, {0, 0}, {2, 0}, {1, 2}, {0, 3}};
  for (const auto& [block, token] : slots) {
    plan.row_positions.push_back(token);
    plan.row_lengths.push_back(4);
    plan.row_slots.push_back(pool.offset_of(block, token));
  }
  plan.finish();
  const int64_t width = kv_heads * head_dim, stride = 3 * width + 1;
  const std::vector<float> rows = random_values(5 * stride, 11);
  write_kv(plan, kLayer, rows.data(), rows.data() + width, stride, {.threads = 2, .isa = isa});

  const int64_t elements = 3 * kLayers * kv_heads * 4 * head_dim;
  std::vector<float> want_keys(static_cast<size_t>(elements), 0.0f), want_values = want_keys;
  for (size_t row = 0; row < slots.size(); ++row)
    for (int64_t head = 0; head < kv_heads; ++head)
      for (int64_t c = 0; c < head_dim; ++c) {
        const auto [block, token] = slots[row];
        const int64_t at =
            (((block * kLayers + kLayer) * kv_heads + head) * 4 + token) * head_dim + c;
        const int64_t from = static_cast<int64_t>(row) * stride + head * head_dim + c;
        want_keys[static_cast<size_t>(at)] = rounded(rows[static_cast<size_t>(from)], dtype);
        want_values[static_cast<size_t>(at)] =
            rounded(rows[static_cast<size_t>(from + width)], dtype);
      }
  for (int64_t i = 0; i < elements; ++i) {
    ASSERT_EQ(element(plan.caches[0].keys, dtype, i), want_keys[static_cast<size_t>(i)])
        << "key element " << i << " " << name_of(dtype) << " " << name_of(isa);
    ASSERT_EQ(element(plan.caches[0].values, dtype, i), want_values[static_cast<size_t>(i)])
        << "value element " << i << " " << name_of(dtype) << " " << name_of(isa);
  }
}

TEST(KvWrite, RowsLandInTheirSlotsAndNowhereElse) {
  for (Isa isa : available_isas())
    for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
      for (int64_t kv_heads : {1, 3})
        for (int64_t head_dim : {1, 7, 16, 33, 64}) check(dtype, kv_heads, head_dim, isa);
}

// Rounding to nearest even, infinities, NaN and subnormals, by vectors and by tails alike.
TEST(KvWrite, Bf16RoundsLikeTheScalarConversion) {
  constexpr int64_t kDim = 64;
  kv::BlockPool pool({.layers = 1,
                      .kv_heads = 1,
                      .head_dim = kDim,
                      .dtype = DType::kBF16,
                      .block_tokens = 1,
                      .num_blocks = 1});
  kv::AttentionPlan plan;
  plan.caches = {pool.view()};
  plan.row_positions = {0};
  plan.row_lengths = {1};
  plan.row_slots = {0};
  plan.finish();
  std::vector<float> patterns;
  for (uint32_t high : {0x0000u, 0x0001u, 0x007fu, 0x3f80u, 0x3f81u, 0x7f7fu, 0x7f80u, 0x7f81u,
                        0x7fffu, 0x8000u, 0xbf80u, 0xbf81u, 0xff7fu, 0xff80u, 0xffffu, 0x4049u})
    for (uint32_t low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      patterns.push_back(std::bit_cast<float>(high << 16 | low));
  patterns.resize((patterns.size() + kDim - 1) / kDim * kDim, 0.0f);
  for (Isa isa : available_isas())
    for (size_t first = 0; first < patterns.size(); first += kDim) {
      write_kv(plan, 0, patterns.data() + first, patterns.data() + first, kDim,
               {.threads = 1, .isa = isa});
      for (size_t i = 0; i < kDim; ++i) {
        const bf16 got = static_cast<const bf16*>(plan.caches[0].keys)[i],
                   want(patterns[first + i]);
        if (std::isnan(patterns[first + i])) {
          EXPECT_TRUE(std::isnan(static_cast<float>(got))) << name_of(isa);
        } else {
          EXPECT_EQ(got.bits, want.bits) << name_of(isa) << " " << patterns[first + i];
        }
      }
    }
}

// Rows without a slot are passed over, and none of the plan's other caches is touched.
TEST(KvWrite, RowsWithoutASlotAreNotStored) {
  constexpr int64_t kDim = 24, kRows = 40;
  for (Isa isa : available_isas())
    for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
      kv::BlockPool pool({.layers = 2,
                          .kv_heads = 2,
                          .head_dim = kDim,
                          .dtype = dtype,
                          .block_tokens = static_cast<int32_t>(kRows),
                          .num_blocks = 1});
      const std::vector<float> untouched(static_cast<size_t>(4 * kRows * kDim), 3.0f);
      std::vector<float> other_keys = untouched, other_values = untouched;
      kv::CacheView other = pool.view();
      other.keys = other_keys.data();
      other.values = other_values.data();
      other.dtype = DType::kF32;
      kv::AttentionPlan plan;
      plan.begin(pool.view());
      plan.add_cache(other);
      for (int32_t row = 0; row < kRows; ++row) {
        plan.row_positions.push_back(row);
        plan.row_lengths.push_back(row + 1);
        plan.row_slots.push_back(row % 3 == 0 ? pool.offset_of(0, row) : kv::kNoSlot);
      }
      plan.finish();
      const std::vector<float> rows = random_values(kRows * 4 * kDim, 5);
      write_kv(plan, 1, rows.data(), rows.data() + 2 * kDim, 4 * kDim, {.threads = 2, .isa = isa});
      for (int64_t head = 0; head < 2; ++head)
        for (int64_t row = 0; row < kRows; ++row)
          for (int64_t c = 0; c < kDim; ++c) {
            const int64_t at = ((2 + head) * kRows + row) * kDim + c;
            const auto from = static_cast<size_t>(row * 4 * kDim + head * kDim + c);
            const bool is_stored = row % 3 == 0;
            ASSERT_EQ(element(plan.caches[0].keys, dtype, at),
                      is_stored ? rounded(rows[from], dtype) : 0.0f);
            ASSERT_EQ(element(plan.caches[0].values, dtype, at),
                      is_stored ? rounded(rows[from + 2 * kDim], dtype) : 0.0f);
            ASSERT_EQ(element(plan.caches[0].keys, dtype, at - 2 * kRows * kDim), 0.0f)
                << "another layer";
          }
      EXPECT_EQ(other_keys, untouched);
      EXPECT_EQ(other_values, untouched);
    }
}

TEST(KvWrite, NoRowsWriteNothing) {
  const std::vector<float> untouched(64, 3.0f);
  std::vector<float> keys = untouched, values = untouched;
  kv::AttentionPlan plan;
  plan.begin({.keys = keys.data(),
              .values = values.data(),
              .layer_stride = 64,
              .head_stride = 64,
              .kv_heads = 1,
              .head_dim = 16});
  plan.finish();
  write_kv(plan, 0, nullptr, nullptr, 0, {.threads = 2, .isa = best_isa()});
  EXPECT_EQ(keys, untouched);
  EXPECT_EQ(values, untouched);
}

}  // namespace
}  // namespace reprise::kernels
