// Compares attention maps on the device, through the functions that callers use, with the
// double-precision oracle.
#include "core/kernels/attention_map/attention_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <random>
#include <string>

#include "core/base/error.h"
#include "core/kernels/attention/cuda/tiles.h"
#include "core/kernels/attention_map/reference/attention_map.h"
#include "tests/core/kernels/attention/attention_cases.h"
#include "tests/core/kernels/device/cuda/device_context.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using reprise::testing::expect_within;
using testing::RandomCache;

constexpr DType kHalfDtypes[] = {DType::kBF16, DType::kF16};

// Queries that the cache's dtype holds: then the kernel multiplies the same numbers as the oracle.
std::vector<float> queries_for(int64_t count, uint64_t seed, DType dtype) {
  return reprise::testing::random_values(count, seed, dtype);
}

class CudaAttentionMap : public reprise::testing::OnDevice {
 protected:
  void TearDown() override {
    copies_.clear();
    OnDevice::TearDown();
  }

  // The plan with its caches on the device.
  kv::AttentionPlan on_device(kv::AttentionPlan plan, std::span<const RandomCache> caches) {
    for (size_t i = 0; i < plan.caches.size(); ++i) {
      plan.caches[i].device = Device::kCuda;
      plan.caches[i].keys = copy_of(caches[i].keys);
      plan.caches[i].values = copy_of(caches[i].values);
    }
    return plan;
  }
  void* copy_of(const Tensor& tensor) {
    return copies_.emplace_back(tensor.copy_to(context_.runtime)).data();
  }
  float* copy_of(const std::vector<float>& values) {
    return static_cast<float*>(copy_of(reprise::testing::tensor_of(values, DType::kF32)));
  }
  std::vector<float> values_of(const void* data, int64_t count, DType dtype = DType::kF32) {
    Tensor host(dtype, {count});
    device_->copy_out(host.data(), data, host.bytes());
    return reprise::testing::values_of(host);
  }

  // Computes a map on the device, and returns it: [heads, rows, keys].
  std::vector<float> map_of(const kv::AttentionPlan& plan, int64_t layer,
                            const std::vector<float>& q, int64_t heads,
                            const AttentionParams& params, const std::vector<float>& bias = {}) {
    const int64_t elements = heads * plan.rows() * most_keys(plan);
    float* map = copy_of(std::vector<float>(static_cast<size_t>(elements), 7.0f));
    attention_map(plan, layer,
                  {.data = copy_of(q), .row_stride = std::ssize(q) / plan.rows(), .heads = heads},
                  params, bias.empty() ? nullptr : copy_of(bias), map, context_);
    return values_of(map, elements);
  }
  void expect_map(const kv::AttentionPlan& plan, std::span<const RandomCache> caches, int64_t heads,
                  const AttentionParams& params, const std::vector<float>& bias, uint64_t seed,
                  const std::string& what);

  std::vector<float> applied(const kv::AttentionPlan& plan, int64_t layer,
                             std::span<const RowMap> maps, int64_t heads, DType out_dtype) {
    const int64_t elements = plan.rows() * heads * plan.head_dim();
    Tensor out(out_dtype, {elements}, context_.runtime);
    apply_map(plan, layer, maps, heads, {.data = out.data(), .dtype = out_dtype}, context_);
    return values_of(out.data(), elements, out_dtype);
  }
  void expect_applied(const kv::AttentionPlan& plan, std::span<const RandomCache> caches,
                      std::span<const RowMap> maps, int64_t heads, DType out_dtype,
                      const std::string& what);

 private:
  std::list<Tensor> copies_;
};

// Expects the map within its bound: for scores of up to 30, 2^-13 of a weight is more than the
// error of a sum of some 128 exact products in f32 and of one exponential.
void CudaAttentionMap::expect_map(const kv::AttentionPlan& plan,
                                  std::span<const RandomCache> caches, int64_t heads,
                                  const AttentionParams& params, const std::vector<float>& bias,
                                  uint64_t seed, const std::string& what) {
  const int64_t stride = heads * plan.head_dim() + 8;
  const std::vector<float> q = queries_for(plan.rows() * stride, seed, plan.caches[0].dtype);
  const std::vector<double> want =
      reference::attention_map(plan, 1, {.data = q.data(), .row_stride = stride, .heads = heads},
                               params, bias.empty() ? nullptr : bias.data());
  std::vector<double> bound;
  for (const double weight : want) bound.push_back(0x1p-13 * weight + 0x1p-26);
  expect_within(map_of(on_device(plan, caches), 1, q, heads, params, bias), want, bound, what);
}

// The bound: each weight is rounded to the cache's type (unit roundoff u), and sums are in f32.
void CudaAttentionMap::expect_applied(const kv::AttentionPlan& plan,
                                      std::span<const RandomCache> caches,
                                      std::span<const RowMap> maps, int64_t heads, DType out_dtype,
                                      const std::string& what) {
  const std::vector<double> want = reference::apply_map(plan, 1, maps, heads);
  kv::AttentionPlan positive = plan;
  std::vector<Tensor> values;
  for (size_t i = 0; i < caches.size(); ++i) {
    std::vector<float> absolute = reprise::testing::values_of(caches[i].values);
    for (float& value : absolute) value = std::abs(value);
    values.push_back(reprise::testing::tensor_of(absolute, plan.caches[i].dtype));
    positive.caches[i].values = values.back().data();
  }
  const double unit = static_cast<double>(epsilon_of(plan.caches[0].dtype)) / 2;
  std::vector<double> bound = reference::apply_map(positive, 1, maps, heads);
  for (size_t i = 0; i < bound.size(); ++i)
    bound[i] = (unit + 0x1p-14) * bound[i] + 0x1p-20 +
               (out_dtype == DType::kF32 ? 0.0
                                         : 0.51 * static_cast<double>(epsilon_of(out_dtype)) *
                                               (std::abs(want[i]) + bound[i]));
  expect_within(applied(on_device(plan, caches), 1, maps, heads, out_dtype), want, bound, what);
}

std::span<const RandomCache> one(const RandomCache& cache) { return {&cache, 1}; }

AttentionParams plain(int64_t head_dim) {
  return {.scale = 1.0f / std::sqrt(static_cast<float>(head_dim))};
}

// The weights are positive, as attention weights are, so errors do not cancel.
std::vector<float> random_weights(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> weight(0.0f, 1.0f);
  std::vector<float> weights;
  for (int64_t i = 0; i < count; ++i) weights.push_back(weight(random));
  return weights;
}

TEST_F(CudaAttentionMap, EveryCompiledKernelMatchesTheReference) {
  uint64_t seed = 1;
  for (const DType dtype : kHalfDtypes)
    for (const int dim : cuda::kHeadDims) {
      const std::string what = std::string(name_of(dtype)) + " dim " + std::to_string(dim);
      const RandomCache cache(dtype, 1, 2, 2, 103, dim, ++seed);
      const kv::AttentionPlan plan = testing::causal_plan(cache, 33, 70);
      expect_map(plan, one(cache), 6, plain(dim), {}, seed, what);
      const std::vector<float> weights = random_weights(6 * 70 * 103, seed);
      const RowMap map{.map = contiguous_map(weights.data(), DType::kF32, 6, 70, 103)};
      expect_applied(plan, one(cache), {&map, 1}, 6, DType::kF32, what);
    }
}

TEST_F(CudaAttentionMap, PromptsMatchTheReferenceAtEveryEdge) {
  uint64_t seed = 100;
  for (const auto& [past, rows] :
       {std::pair{0, 1}, {0, 2}, {63, 1}, {64, 1}, {0, 63}, {0, 64}, {1, 65}, {0, 130}, {7, 9}}) {
    const std::string what = "past " + std::to_string(past) + " rows " + std::to_string(rows);
    ++seed;
    const RandomCache cache(kHalfDtypes[seed % 2], 9, 2, 1, 16, 64, seed);
    const kv::AttentionPlan plan = testing::causal_plan(cache, past, rows);
    for (const int window : {0, 1 + rows / 2}) {
      AttentionParams params = plain(64);
      params.window = window;
      expect_map(plan, one(cache), 1, params, {}, seed, what);
    }
    const std::vector<float> weights = random_weights(rows * (past + rows), seed);
    const RowMap map{.map = contiguous_map(weights.data(), DType::kF32, 1, rows, past + rows)};
    expect_applied(plan, one(cache), {&map, 1}, 1, kHalfDtypes[seed % 2], what);
  }
}

// Rows share some segments, over two caches. Where a mask hides the end of a segment, the keys of a
// row have a gap.
TEST_F(CudaAttentionMap, RandomPlansMatchTheReference) {
  std::mt19937_64 random(7);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const DType dtype = kHalfDtypes[seed % 2];
    const std::array<RandomCache, 2> caches = {RandomCache(dtype, 16, 2, 2, 16, 64, seed),
                                               RandomCache(dtype, 16, 2, 2, 5, 64, seed + 50)};
    const kv::AttentionPlan plan = testing::random_plan_over(caches, pick);
    const int64_t heads = 2 * pick(1, 3), keys = most_keys(plan);
    if (keys == 0) continue;
    const std::string what = "plan " + std::to_string(seed);
    std::vector<float> slopes;
    for (int64_t head = 0; head < heads; ++head) slopes.push_back(std::exp2(-1.0f - pick(0, 4)));
    AttentionParams params = plain(64);
    if (seed % 3 == 0) params.window = pick(1, 300);
    if (seed % 4 == 1) params.alibi = {.slopes = slopes};
    if (seed % 4 == 3) params.alibi = {.slopes = slopes, .rounded_to_bf16 = true, .factor = 0.125f};
    std::vector<float> bias;
    if (seed % 2 == 0) bias = testing::random_queries(heads * plan.rows() * keys, seed);
    expect_map(plan, caches, heads, params, bias, seed, what);
    const std::vector<float> weights = random_weights(heads * plan.rows() * keys, seed);
    const RowMap map{.map = contiguous_map(weights.data(), DType::kF32, heads, plan.rows(), keys)};
    expect_applied(plan, caches, {&map, 1}, heads, DType::kBF16, what);
  }
}

// Two maps: one for the prompt's first rows, cut out of a larger map with its strides, and one for
// the rows behind them. Each is tried in every form in which maps are stored, on the host and on
// the device.
TEST_F(CudaAttentionMap, PartsInEveryFormMatchTheReference) {
  constexpr int64_t kHeads = 4, kRows = 90, kKeys = 101;
  const RandomCache cache(DType::kBF16, 12, 2, 2, 8, 64, 3);
  const kv::AttentionPlan plan = testing::causal_plan(cache, 0, 83);
  std::vector<float> weights = random_weights(kHeads * kRows * kKeys, 4);
  std::vector<uint8_t> bytes;
  for (const float weight : weights) bytes.push_back(static_cast<uint8_t>(255 * weight));
  const std::vector<float> scales = random_weights(kHeads * kRows, 5);
  const Tensor in_bf16 = reprise::testing::tensor_of(weights, DType::kBF16);
  MapView scaled = contiguous_map(bytes.data(), DType::kF32, kHeads, kRows, kKeys);
  scaled.row_scales = scales.data();
  scaled.scale_head_stride = kRows;
  for (const MapView& whole :
       {contiguous_map(weights.data(), DType::kF32, kHeads, kRows, kKeys),
        contiguous_map(in_bf16.data(), DType::kBF16, kHeads, kRows, kKeys), scaled}) {
    RowMap first{.first_row = 0, .map = whole}, second{.first_row = 70, .map = whole};
    first.map.rows = 70;
    second.map.rows = 13;
    const std::array<RowMap, 2> maps = {first, second};
    expect_applied(plan, one(cache), maps, kHeads, DType::kF32,
                   whole.row_scales != nullptr ? "bytes" : std::string(name_of(whole.dtype)));
  }
  const RowMap on_host{.map = contiguous_map(weights.data(), DType::kF32, kHeads, 83, kKeys)};
  RowMap own = on_host;
  own.map.data = copy_of(weights);
  own.map.device = Device::kCuda;
  const kv::AttentionPlan there = on_device(plan, one(cache));
  EXPECT_EQ(applied(there, 1, {&own, 1}, kHeads, DType::kF32),
            applied(there, 1, {&on_host, 1}, kHeads, DType::kF32));
}

// A NaN gives NaN only in its own row and head, and values that no row may see are not read.
TEST_F(CudaAttentionMap, NansStayInTheirRow) {
  const RandomCache cache(DType::kBF16, 1, 2, 1, 40, 64, 9);
  const kv::AttentionPlan plan = on_device(testing::causal_plan(cache, 0, 40), one(cache));
  std::vector<float> q = queries_for(40 * 64, 1, DType::kBF16);
  const std::vector<float> clean = map_of(plan, 1, q, 1, plain(64));
  q[5 * 64 + 3] = std::nanf("");
  const std::vector<float> map = map_of(plan, 1, q, 1, plain(64));
  for (size_t i = 0; i < map.size(); ++i) {
    const size_t row = i / 40, key = i % 40;
    if (row != 5) {
      ASSERT_EQ(map[i], clean[i]) << i;
    } else if (key <= row) {
      ASSERT_TRUE(std::isnan(map[i])) << i;
    }
  }
}

TEST_F(CudaAttentionMap, WhatTheDeviceCannotDoIsRefusedByName) {
  const auto refused = [&](DType dtype, int64_t dim, const std::string& why) {
    const RandomCache cache(dtype, 1, 2, 1, 8, dim, 1);
    const kv::AttentionPlan plan = on_device(testing::causal_plan(cache, 0, 8), one(cache));
    try {
      (void)map_of(plan, 1, testing::random_queries(8 * dim, 1), 1, plain(dim));
      ADD_FAILURE() << why;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  refused(DType::kF32, 64, "cache them in bf16 or f16");
  refused(DType::kBF16, 40, "compiled for 32, 64, 80, 96, 128");

  const RandomCache cache(DType::kBF16, 1, 2, 1, 8, 64, 1);
  const kv::AttentionPlan plan = on_device(testing::causal_plan(cache, 0, 8), one(cache));
  const std::vector<float> weights = random_weights(8 * 8, 1);
  const RowMap shorter{.map = contiguous_map(weights.data(), DType::kF32, 1, 8, 7)};
  EXPECT_THROW((void)applied(plan, 1, {&shorter, 1}, 1, DType::kF32), ShapeError);
  const RowMap other{.map = contiguous_map(weights.data(), DType::kF32, 2, 8, 4)};
  EXPECT_THROW((void)applied(plan, 1, {&other, 1}, 1, DType::kF32), ShapeError);
}

}  // namespace
}  // namespace reprise::kernels
