// Prompt Cache in kind "ttft" on a device, with modules on the device, in host memory and in files.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "experiments/framework/experiment_file.h"
#include "experiments/framework/sweep.h"
#include "experiments/kinds/latency/ttft.h"
#include "experiments/kinds/registry.h"
#include "tests/core/kernels/device/cuda/device_context.h"
#include "tests/experiments/kinds/shared/measured_value.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

class CudaPromptCacheKind : public testing::OnDevice {
 protected:
  Group group_of(const Json& methods) const {
    const Json file = {
        {"name", "t"},
        {"title", "t"},
        {"kind", "ttft"},
        {"models", {{{"model", REPRISE_SOURCE_DIR "/models/quickstart"}, {"weights", "random"}}}},
        {"dtypes", {"bf16"}},
        {"methods", methods},
        {"settings",
         {{"prompt_tokens", 24}, {"fresh_tokens", 3}, {"new_tokens", 3}, {"modules", 2}}},
        {"repetitions", 2},
        {"warmup", 1}};
    const Experiment experiment = parse_experiment(file, "t.json", "desk", {}, known_vocabulary());
    return expand(experiment, {.context = context_, .device = Device::kCuda}).at(0);
  }
  static Json with(const Json& options) { return {{"name", "prompt_cache"}, {"options", options}}; }
};

TEST_F(CudaPromptCacheKind, ModulesGiveTheSameTokensFromEveryTier) {
  TtftKind kind(context_);
  const Group group = group_of({"contiguous", with({{"tier", "host"}}), with({{"tier", "device"}}),
                                with({{"tier", "disk"}}), with({{"copies", true}})});
  kind.check(group);
  const std::atomic<bool> stop = false;
  const auto measured = measured_json(kind.measure(group, Machine(), stop));
  ASSERT_EQ(measured.size(), 5u);
  for (size_t m = 1; m < 5; ++m) {
    EXPECT_EQ(measured[m].answers["tokens_hash"], measured[1].answers["tokens_hash"]) << m;
    EXPECT_GT(value_of(measured[m], "reused_tokens"), 0);
    EXPECT_EQ(value_of(measured[m], "copied_mb") > 0, m == 4);
  }
}

TEST_F(CudaPromptCacheKind, RepairComputesSomeTokensAnew) {
  TtftKind kind(context_);
  const Group group = group_of({"contiguous", with({{"mode", "repair"}, {"repair_ratio", 1.0}})});
  kind.check(group);
  const std::atomic<bool> stop = false;
  const auto measured = measured_json(kind.measure(group, Machine(), stop));
  ASSERT_EQ(measured.size(), 2u);
  EXPECT_GT(value_of(measured[1], "repair_ms"), 0);
  EXPECT_EQ(measured[1].answers["tokens_hash"], measured[0].answers["tokens_hash"]);
}

}  // namespace
}  // namespace reprise::experiments
