// Tests kind "state_copy" with a device: states are copied to its memory and within it.
#include <gtest/gtest.h>

#include "core/base/problems.h"
#include "experiments/framework/experiment_file.h"
#include "experiments/framework/sweep.h"
#include "experiments/kinds/latency/state_copy.h"
#include "experiments/kinds/latency/state_routes.h"
#include "experiments/kinds/registry.h"
#include "results/paper_numbers.h"
#include "tests/core/kernels/device/cuda/device_context.h"
#include "tests/experiments/kinds/shared/measured_value.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

class CudaStateCopyKind : public testing::OnDevice {
 protected:
  [[nodiscard]] Group group_of(const Json& routes) const {
    const Json file = {{"name", "t"},
                       {"title", "t"},
                       {"kind", "state_copy"},
                       {"models", {{{"model", "llama-2-13b"}, {"weights", "random"}}}},
                       {"dtypes", {"bf16"}},
                       {"series", routes},
                       {"settings", {{"tokens", 50}, {"layers", 2}}},
                       {"repetitions", 3},
                       {"warmup", 1}};
    const Experiment experiment = parse_experiment(file, "t.json", "desk", {}, known_vocabulary());
    return expand(experiment, {.context = context_, .device = context_.device}).at(0);
  }
};

TEST_F(CudaStateCopyKind, EveryRouteCopiesEveryByteAtOddShapes) {
  for (const DType dtype : {DType::kBF16, DType::kF16})
    for (const int64_t tokens : {1, 37}) {
      const kv::SegmentShape shape{
          .layers = 3, .kv_heads = 3, .tokens = tokens, .head_dim = 16, .dtype = dtype};
      StateRoutes routes(shape, {kHostToDevice, kDeviceToDevice, kHostToHost, kGather}, 1,
                         context_);
      for (const char* route :
           {kDeviceToDevice, kHostToDevice, kGather, kHostToHost, kDeviceToDevice})
        EXPECT_TRUE(routes.copies_all(route)) << route << " of " << kv::text_of(shape);
    }
}

TEST_F(CudaStateCopyKind, ThePapersNumbersStandBesideTheDevicesRoutes) {
  StateCopyKind kind(context_);
  const Group group = group_of({"host_to_host", "host_to_device", "device_to_device"});
  kind.check(group);
  // The rate of a device's memory limits neither copies within the host nor copies between host and
  // device.
  const Json machine = {{"l3_bytes", 1024},
                        {"limits", {{"dram_read_gb_s", 50.0}}},
                        {"device", {{"limits", {{"read_gb_s", 3000.0}}}}}};
  const std::atomic<bool> stop = false;
  const auto measured = measured_json(kind.measure(group, machine_of_json(machine), stop));
  ASSERT_EQ(measured.size(), 3u);
  const results::PaperNumbers paper = results::load_paper_numbers("prompt_cache_memcpy");
  const double published[] = {3.79, 5.34, 0.23};
  for (size_t m = 0; m < 3; ++m) {
    EXPECT_GT(value_of(measured[m], "layer_ms"), 0);
    EXPECT_EQ(measured[m].metrics.contains("memory_limit_ratio"), m == 2);
    Fields settings = fields_of(measured[m].resolved);
    settings["method"] = group.methods[m].name;
    settings["tokens"] = 5000;
    EXPECT_EQ(paper.at(settings).at("layer_ms").value, published[m]);
  }
  EXPECT_TRUE(measured[1].resolved["host_locked"].is_boolean());
}

TEST_F(CudaStateCopyKind, WithoutADeviceItsRoutesAreRefused) {
  const Group group = group_of({"host_to_host", "host_to_device", "device_to_device"});
  Problems problems;
  problems.collect([&] { StateCopyKind(Context{.threads = 1, .isa = best_isa()}).check(group); });
  std::string text;
  for (const std::string& problem : problems.list()) text += problem + "\n";
  for (const char* route : {"host_to_device", "device_to_device"})
    EXPECT_NE(text.find(std::string("route ") + route + " copies to a device"), std::string::npos)
        << text;
}

}  // namespace
}  // namespace reprise::experiments
