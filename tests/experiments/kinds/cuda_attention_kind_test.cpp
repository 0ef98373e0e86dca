// Kind "attention" where a device computes: the plans of every method, judged by the definition and
// timed by the device's clock.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "experiments/kinds/attention_kind.h"
#include "tests/core/kernels/cuda/device_context.h"
#include "tests/experiments/kinds/attention_group.h"
#include "tests/experiments/kinds/measured_value.h"

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
  std::vector<Measurement> measure(const Group& group) {
    AttentionKind kind(context_);
    kind.check(group);
    return kind.measure(group, kMachine, stop_);
  }
  std::string refusal(const Group& group) {
    try {
      (void)measure(group);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
  std::atomic<bool> stop_ = false;
};

TEST_F(CudaAttentionKind, MeasuresEveryMethodAndOutputsAreThoseOfTheDefinition) {
  const Json methods = {"contiguous", "recompute",       "paged",          "paged_shared",
                        "auto",       "chunk_attention", "relay_attention"};
  for (const char* dtype : {"bf16", "f16"}) {
    const auto measured = measure(attention_group(kSmall, methods, dtype));
    ASSERT_EQ(measured.size(), methods.size());
    for (const Measurement& method : measured) {
      EXPECT_EQ(method.samples["latency_us"].size(), 3u);
      EXPECT_GT(value_of(method, "latency_us"), 0);
      EXPECT_GT(value_of(method, "append_us"), 0);
      EXPECT_GT(value_of(method, "beside_gb_s"), 0);
      EXPECT_GT(value_of(method, "plan_beside_ratio"), 0);
      EXPECT_GT(value_of(method, "plan_limit_ratio"), 0);
      EXPECT_LE(method.answers["rounding_bound_share"].get<double>(), 1.0);
      EXPECT_GT(method.answers["rounding_bound_share"].get<double>(), 0.0);
      EXPECT_EQ(method.answers.contains("f16_shadow_bound_share"), std::string(dtype) == "bf16");
      EXPECT_LE(method.answers.value("f16_shadow_bound_share", 1.0), 1.0);
      EXPECT_FALSE(method.metrics.contains("stream_ratio"));
      EXPECT_FALSE(method.metrics.contains("shared_us"));
    }
    EXPECT_EQ(value_of(measured[0], "speedup"), 1.0);
    // The shared half is read once, not for each of three sequences.
    EXPECT_LT(value_of(measured[6], "read_mb"), value_of(measured[2], "read_mb"));
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
  AttentionKind kind(context_);
  EXPECT_NE(kind.missing({.name = "torch_sdpa"}).find("gpu_against_torch.py"), std::string::npos);
}

}  // namespace
}  // namespace reprise::experiments
