// Runs attention on the device, emulated or real, for a plan over host caches.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "core/kernels/attention/cuda/attention.cuh"
#include "core/kernels/attention/reference/attention.h"
#include "tests/core/kernels/attention/attention_cases.h"
#include "tests/cuda_on_cpu/device_array.h"
#include "tests/cuda_on_cpu/plain_runtime.h"
#include "tests/support/kernels.h"

namespace reprise::kernels::cuda::testing {

using kernels::testing::RandomCache;

inline DeviceRuntime& test_runtime() {
  static cuda_on_cpu::PlainRuntime runtime;
  return runtime;
}

// A plan whose caches are on the device.
class DevicePlan {
 public:
  DevicePlan(const kv::AttentionPlan& plan, std::span<const RandomCache> caches) : plan_(plan) {
    for (size_t i = 0; i < plan.caches.size(); ++i) {
      plan_.caches[i].keys = copy_of(caches[i].keys);
      plan_.caches[i].values = copy_of(caches[i].values);
    }
  }
  [[nodiscard]] const kv::AttentionPlan& plan() const { return plan_; }

 private:
  void* copy_of(const Tensor& tensor) {
    const auto* bytes = static_cast<const uint8_t*>(tensor.data());
    copies_.emplace_back(std::vector<uint8_t>(bytes, bytes + tensor.bytes()));
    return copies_.back().data();
  }

  kv::AttentionPlan plan_;
  std::list<cuda_on_cpu::DeviceArray<uint8_t>> copies_;
};

struct AttentionRun {
  int64_t heads = 1;
  AttentionParams params;
  int64_t layer = 0;
  int64_t row_stride = 0;  // row stride of the queries; 0: heads * head_dim
  DType q_dtype = DType::kF32;
  DType out_dtype = DType::kF32;
  GpuModel gpu = kA100;
  RowResults results = RowResults::kFinished;
  TileOverride tiles;

  // The GPU for which tiles are chosen. For a shape by_warpgroups it has few SMs: a block of such a
  // shape processes several tasks in turn, and with 3 SMs this happens even in small plans.
  [[nodiscard]] GpuModel model() const {
    if (!tiles.shape || !kTileShapes[static_cast<size_t>(*tiles.shape)].by_warpgroups) return gpu;
    GpuModel small = kH100;
    small.sms = 3;
    return small;
  }
};

// Runs a layer of the step that `device` has begun, and returns its output [rows, heads *
// head_dim]. On the emulated device, elements that nobody writes are NaN.
inline std::vector<float> run_layer(DeviceAttention& device, const kv::AttentionPlan& plan,
                                    const std::vector<float>& q, const AttentionRun& run) {
  const int64_t row = run.heads * plan.head_dim();
  const cuda_on_cpu::DeviceNumbers queries(q, run.q_dtype);
  const cuda_on_cpu::DeviceNumbers out(static_cast<size_t>(plan.rows() * row), run.out_dtype);
  device.run(run.layer,
             {.data = queries.data(),
              .dtype = run.q_dtype,
              .row_stride = run.row_stride == 0 ? row : run.row_stride},
             {.data = out.data(), .dtype = run.out_dtype}, nullptr);
  return out.values();
}

inline std::vector<float> run_attention(const kv::AttentionPlan& plan,
                                        std::span<const RandomCache> caches,
                                        const std::vector<float>& q, const AttentionRun& run) {
  const DevicePlan on_device(plan, caches);
  DeviceAttention device(test_runtime());
  device.begin(on_device.plan(), run.heads, run.params, run.model(), run.results, run.tiles);
  return run_layer(device, plan, q, run);
}

// Runs the plan with rows merged in the last block, twice, as two layers with the same input: the
// first run must leave no counter behind. Expects the bits of `want`. Does nothing if the plan is
// not merged in this way.
inline void expect_same_in_last_block(const kv::AttentionPlan& plan,
                                      std::span<const RandomCache> caches,
                                      const std::vector<float>& q, const AttentionRun& run,
                                      const std::vector<float>& want, const std::string& what) {
  const DevicePlan on_device(plan, caches);
  DeviceAttention device(test_runtime());
  TileOverride tiles = run.tiles;
  tiles.merges_in_last_block = true;
  device.begin(on_device.plan(), run.heads, run.params, run.model(), run.results, tiles);
  if (!device.schedule().merges_in_last_block) return;
  for (const char* const time : {"first", "second"}) {
    const std::vector<float> got = run_layer(device, plan, q, run);
    ASSERT_EQ(got.size(), want.size());
    EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)), 0)
        << what << ", merged in the last block, " << time << " run";
  }
}

// Largest relative error of a number rounded to the type.
inline double roundoff(DType dtype) { return epsilon_of(dtype) / 2; }

// Random queries, rounded to the cache's dtype: then the kernel multiplies the same numbers as the
// oracle.
inline std::vector<float> queries_for(int64_t count, uint64_t seed, DType kv_dtype) {
  std::vector<float> q = kernels::testing::random_queries(count, seed);
  for (float& value : q)
    visit_dtype(kv_dtype, [&](auto tag) { value = static_cast<float>(decltype(tag)(value)); });
  return q;
}

// The rounding error bound of each element, for queries that the cache's dtype holds exactly. The
// kernel rounds each weight to the cache's dtype, with a relative error of at most u. So the output
// moves by up to u * sum_j w_j |v_j|, and this sum is the oracle's answer for |v|. Scores (up to
// some 40 in units of log2) are sums in f32, and 2^x is good to 2^-22: 2^-14 of each weight is more
// than both errors together. The rounding of the output is relative to the output.
inline std::vector<double> bounds(const kv::AttentionPlan& plan,
                                  std::span<const RandomCache> caches, const std::vector<float>& q,
                                  const AttentionRun& run, const std::vector<double>& want) {
  kv::AttentionPlan positive = plan;
  std::vector<Tensor> values;
  double unit = 0.0;
  for (size_t i = 0; i < plan.caches.size(); ++i) {
    std::vector<float> absolute = reprise::testing::values_of(caches[i].values);
    for (float& value : absolute) value = std::abs(value);
    values.push_back(reprise::testing::tensor_of(absolute, plan.caches[i].dtype));
    positive.caches[i].values = values.back().data();
    unit = std::max(unit, roundoff(plan.caches[i].dtype));
  }
  const int64_t row = run.heads * plan.head_dim();
  std::vector<double> bound =
      reference::attention(positive, run.layer,
                           {.data = q.data(),
                            .row_stride = run.row_stride == 0 ? row : run.row_stride,
                            .heads = run.heads},
                           run.params);
  for (size_t i = 0; i < bound.size(); ++i) {
    bound[i] = (unit + 0x1p-14) * bound[i] + 0x1p-20;
    if (run.out_dtype != DType::kF32)
      bound[i] += 1.01 * roundoff(run.out_dtype) * std::abs(want[i]);
  }
  return bound;
}

// Compares both ways of merging: merge_partials() with the reference, and the last block with
// merge_partials(). Draws queries for the run, rounded to the dtype of the first cache. All caches
// must have this dtype.
inline void expect_reference(const kv::AttentionPlan& plan, std::span<const RandomCache> caches,
                             const AttentionRun& run, uint64_t seed, const std::string& what) {
  const int64_t row = run.heads * plan.head_dim();
  const int64_t stride = run.row_stride == 0 ? row : run.row_stride;
  const std::vector<float> q =
      queries_for(std::max<int64_t>(1, plan.rows()) * stride, seed, plan.caches[0].dtype);
  const std::vector<double> want = reference::attention(
      plan, run.layer, {.data = q.data(), .row_stride = stride, .heads = run.heads}, run.params);
  const std::vector<float> got = run_attention(plan, caches, q, run);
  reprise::testing::expect_within(got, want, bounds(plan, caches, q, run, want), what);
  expect_same_in_last_block(plan, caches, q, run, got, what);
}

// True if the device that runs the tests supports the shape.
inline bool runs_shape(const TileShape& shape) {
  return !shape.by_warpgroups || cuda_on_cpu::device_has_warpgroups();
}
// The indices of the shapes that run here and are compiled for the head size.
inline std::vector<int32_t> all_shapes(int64_t head_dim = 64) {
  std::vector<int32_t> shapes;
  for (size_t i = 0; i < kTileShapes.size(); ++i)
    if (kTileShapes[i].has_head_dim(head_dim) && runs_shape(kTileShapes[i]))
      shapes.push_back(static_cast<int32_t>(i));
  return shapes;
}

}  // namespace reprise::kernels::cuda::testing
