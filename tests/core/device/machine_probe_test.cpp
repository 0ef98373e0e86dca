#include "core/device/machine_probe.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(MachineProbe, MeasuresEveryLimitAndRecordsItWithItsUnit) {
  const Context context = Context::machine();
  const MachineLimits limits = probe_machine(context);
  for (double value : {limits.dram_read_gb_s, limits.l3_read_gb_s, limits.l2_read_gb_s,
                       limits.f32_gflop_s, limits.bf16_gflop_s, limits.elapsed_s})
    EXPECT_GT(value, 0.0);
  const Machine machine = machine_of(context, limits);
  EXPECT_EQ(machine.isa, name_of(context.isa));
  EXPECT_EQ(machine.threads, context.threads);
  EXPECT_EQ(machine.limit("dram_read_gb_s"), limits.dram_read_gb_s);
  EXPECT_EQ(machine.limit("no such limit"), 0);
}

}  // namespace
}  // namespace reprise
