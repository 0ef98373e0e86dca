#include "core/device/machine_probe.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace reprise {
namespace {

TEST(MachineProbe, MeasuresEveryLimitAndRecordsItWithItsUnit) {
  const Context context = Context::machine();
  const MachineLimits limits = probe_machine(context);
  for (double value : {limits.dram_read_gb_s, limits.l3_read_gb_s, limits.l2_read_gb_s,
                       limits.f32_gflop_s, limits.bf16_gflop_s, limits.elapsed_s})
    EXPECT_GT(value, 0.0);
  const Json json = machine_json(context, limits);
  EXPECT_EQ(json.at("isa"), name_of(context.isa));
  EXPECT_EQ(json.at("threads"), context.threads);
  EXPECT_EQ(json.at("limits").at("dram_read_gb_s"), limits.dram_read_gb_s);
  for (const auto& [key, value] : json.at("limits").items()) EXPECT_TRUE(value.is_number()) << key;
}

}  // namespace
}  // namespace reprise
