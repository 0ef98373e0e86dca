// Tests kind "attention" on a device: the plans of every method are compared with the definition,
// and timed by the device's clock.
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "experiments/kinds/attention/attention_kind.h"
#include "experiments/kinds/attention/plan_operator.h"
#include "experiments/kinds/attention/torch_operator.h"
#include "tests/core/kernels/device/cuda/device_context.h"
#include "tests/experiments/kinds/attention/attention_group.h"
#include "tests/experiments/kinds/shared/measured_value.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

const Json kSmall = {
    {"batch", 3},          {"heads", 4},           {"kv_heads", 2},         {"head_dim", 32},
    {"prompt_tokens", 70}, {"shared_percent", 50}, {"completion_tokens", 4}};
const Json kMachine = {
    {"limits", {{"dram_read_gb_s", 50.0}, {"f32_gflop_s", 100.0}, {"bf16_gflop_s", 200.0}}},
    {"device",
     {{"l2_bytes", 1 << 20},
      {"limits", {{"read_gb_s", 3000.0}, {"l2_read_gb_s", 5000.0}, {"half_tflop_s", 700.0}}}}}};

class CudaAttentionKind : public testing::OnDevice {
 protected:
  std::vector<Measured> measure(const Group& group) {
    AttentionKind kind(context_);
    kind.check(group);
    return measured_json(kind.measure(group, machine_of_json(kMachine), stop_));
  }
  std::string refusal(const Group& group) {
    try {
      (void)measure(group);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
  // Expects that three steps of a method were timed, and that rounding explains the error of its
  // outputs.
  static void expect_right(const Measured& method) {
    EXPECT_EQ(method.samples["latency_us"].size(), 3u);
    EXPECT_GT(value_of(method, "latency_us"), 0);
    EXPECT_GT(value_of(method, "append_us"), 0);
    EXPECT_LE(method.answers["rounding_bound_share"].get<double>(), 1.0);
    EXPECT_GT(method.answers["rounding_bound_share"].get<double>(), 0.0);
    EXPECT_LE(method.answers.value("f16_shadow_bound_share", 1.0), 1.0);
  }
  std::atomic<bool> stop_ = false;
};

TEST_F(CudaAttentionKind, MeasuresEveryMethodAndOutputsAreThoseOfTheDefinition) {
  const Json methods = {"contiguous", "recompute",       "paged",          "paged_shared",
                        "auto",       "chunk_attention", "relay_attention"};
  for (const char* dtype : {"bf16", "f16"}) {
    const auto measured = measure(attention_group(kSmall, methods, dtype));
    ASSERT_EQ(measured.size(), methods.size());
    for (const Measured& method : measured) {
      expect_right(method);
      EXPECT_GT(value_of(method, "beside_gb_s"), 0);
      EXPECT_GT(value_of(method, "plan_beside_ratio"), 0);
      EXPECT_GT(value_of(method, "plan_limit_ratio"), 0);
      EXPECT_EQ(method.answers.contains("f16_shadow_bound_share"), std::string(dtype) == "bf16");
      EXPECT_FALSE(method.metrics.contains("stream_ratio"));
      EXPECT_GT(value_of(method, "private_us"), 0);
    }
    for (const char* part : {"shared_us", "private_us", "merge_us"}) {
      EXPECT_EQ(measured[2].metrics.contains(part), std::string(part) == "private_us") << part;
      EXPECT_GT(value_of(measured[6], part), 0) << part;
    }
    EXPECT_EQ(value_of(measured[0], "speedup"), 1.0);
    // The shared half is read once, not for each of three sequences.
    EXPECT_LT(value_of(measured[6], "read_mb"), value_of(measured[2], "read_mb"));
  }
}

// The output stays that of the step before until the parts of the new step are merged.
TEST_F(CudaAttentionKind, PartialResultsMergedAreTheWholeOutput) {
  Json shared = kSmall;
  shared["shared_percent"] = 100;
  const AttentionProblem problem = attention_problem(attention_group(shared, {"paged"}, "f16"));
  const TokenValues values(problem);
  for (const char* name : {"chunk_attention", "relay_attention"}) {
    PlanOperator one({name}, problem, values, context_);
    std::vector<float> merged(static_cast<size_t>(problem.batch * problem.q_dim()));
    std::vector<float> before = merged, whole = merged;
    one.advance();
    one.attend();
    one.read_output(before);
    one.advance();
    const std::vector<OperatorPart> parts = one.parts();
    ASSERT_EQ(parts.size(), 3u) << name;
    parts[0].run();
    parts[1].run();
    one.read_output(merged);
    EXPECT_EQ(merged, before) << name << ": parts alone leave the output as it was";
    parts[2].run();
    one.read_output(merged);
    one.attend();
    one.read_output(whole);
    EXPECT_NE(whole, before) << name;
    // The parts add the products of f16 keys in another order.
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(merged[i], whole[i], 0x1p-10) << name;
  }
}

TEST_F(CudaAttentionKind, TheLayersAroundTheAttentionAreTimedToo) {
  Json layer = kSmall;
  layer.update({{"hidden", 64}, {"intermediate", 96}});
  for (const char* dtype : {"bf16", "f16"}) {
    const auto measured = measure(attention_group(layer, {"paged"}, dtype));
    for (const char* metric : {"qkv_us", "mlp_us", "latency_us"})
      EXPECT_GT(value_of(measured[0], metric), 0) << metric;
    // 3 rows; queries of 4 heads, keys and values of 2 each: 256 outputs of 64 inputs.
    EXPECT_DOUBLE_EQ(value_of(measured[0], "qkv_mflop"), 2.0 * 3 * 256 * 64 * 1e-6);
  }
}

TEST_F(CudaAttentionKind, WhatTheDeviceCannotDoIsSaidWithItsRemedy) {
  EXPECT_NE(refusal(attention_group(kSmall, {"paged"}, "f32")).find("bf16 or f16"),
            std::string::npos);
  Json odd = kSmall;
  odd["head_dim"] = 24;
  EXPECT_NE(refusal(attention_group(odd, {"paged"}, "bf16")).find("24"), std::string::npos);
  EXPECT_THROW(AttentionKind(context_).check(attention_group(odd, {"paged"}, "bf16")), Error);
}

// In the emulator, libtorch treats the device's memory as host memory. On a real device that
// libtorch does not know (because it is a wheel for CPUs), its series are left out.
TEST_F(CudaAttentionKind, TheSeriesOfPyTorchComputeWhereOursDo) {
  const std::string absence = baselines::torch_absence(torch_device(context_).memory);
  EXPECT_EQ(AttentionKind(context_).missing({.name = "torch_sdpa"}), absence);
  if (!absence.empty()) GTEST_SKIP() << absence;
  const Json series = {"torch_naive", "torch_sdpa", "torch_memory_efficient"};
  for (const char* dtype : {"bf16", "f16"}) {
    const auto measured = measure(attention_group(kSmall, {"paged"}, dtype, {}, series));
    ASSERT_EQ(measured.size(), 4u);
    for (const Measured& method : measured) expect_right(method);
    // 70 + 4 tokens of 2 KV heads for each of three sequences.
    EXPECT_DOUBLE_EQ(value_of(measured[2], "kv_mb"), 1e-6 * 3 * 74 * 2 * 2 * 32 * 2);
  }
}

// Each generated token is written twice, by pack() and by store_newest(). First the bytes that
// pack() wrote are read. Then the newest tokens are spoiled, and store_newest() must restore these
// bytes.
TEST_F(CudaAttentionKind, TheNewestTokenOfThePrivateCacheIsWrittenWhereItBelongs) {
  const AttentionProblem problem = attention_problem(attention_group(kSmall, {"paged"}, "bf16"));
  const TokenValues values(problem);
  PrivateCache cache(problem, values, context_);
  constexpr int64_t kTokens = 71, kKvHeads = 2, kDim = 32, kBatch = 3;
  constexpr size_t kBytes = size_t{kBatch * kKvHeads * kTokens * kDim} * 2;
  cache.pack(kTokens);
  const auto read = [&](const void* from) {
    std::vector<std::byte> bytes(kBytes);
    device_->copy_out(bytes.data(), from, kBytes);
    return bytes;
  };
  const auto keys = read(cache.keys()), of_values = read(cache.values());
  const auto expect_token = [&](int64_t sequence, int64_t head, int64_t token) {
    std::vector<float> k(kDim);
    const auto at =
        static_cast<size_t>(((sequence * kKvHeads + head) * kTokens + token) * kDim) * 2;
    convert(keys.data() + at, DType::kBF16, k.data(), DType::kF32, kDim);
    const auto expected =
        values.key(sequence, token).subspan(static_cast<size_t>(head * kDim), kDim);
    for (size_t c = 0; c < kDim; ++c)
      EXPECT_NEAR(k[c], expected[c], 0x1p-8 * std::abs(expected[c]))
          << "sequence " << sequence << ", head " << head << ", token " << token;
  };
  for (int64_t sequence = 0; sequence < kBatch; ++sequence)
    for (int64_t head = 0; head < kKvHeads; ++head)
      for (const int64_t token : {int64_t{0}, kTokens - 2, kTokens - 1})
        expect_token(sequence, head, token);

  // The newest tokens are overwritten by the ones before them.
  constexpr size_t kRow = size_t{kDim} * 2, kStep = size_t{kTokens} * kRow;
  for (const void* spoiled : {cache.keys(), cache.values()}) {
    auto* const newest = static_cast<std::byte*>(const_cast<void*>(spoiled)) + kStep - kRow;
    device_->copy_within(newest, kStep, newest - kRow, kStep, kRow, size_t{kBatch * kKvHeads});
  }
  EXPECT_NE(read(cache.keys()), keys);
  cache.store_newest();
  EXPECT_EQ(read(cache.keys()), keys);
  EXPECT_EQ(read(cache.values()), of_values);
}

}  // namespace
}  // namespace reprise::experiments
