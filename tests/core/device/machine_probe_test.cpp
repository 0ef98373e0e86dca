#include "core/device/machine_probe.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

constexpr int64_t kKiB = 1024, kMiB = 1024 * kKiB;

TEST(MachineProbe, ReadsFromTheL3WhatACoreKeepsInIt) {
  const auto read_bytes = [](const CpuFacts& cpu, int threads) {
    return static_cast<int64_t>(l3_read_bytes(cpu, threads));
  };
  // A Xeon of 28 cores with two threads each. Its L3 keeps nothing that an L2 has.
  const CpuFacts xeon = {
      .logical_cores = 56, .l2_bytes = kMiB, .l3_bytes = 77 * kMiB / 2, .threads_of_core = 2};
  EXPECT_EQ(read_bytes(xeon, 56), (kMiB + 77 * kMiB / 2 / 28 / 2) / 2);
  EXPECT_EQ(read_bytes(xeon, 28), kMiB + 77 * kMiB / 2 / 28 / 2);
  EXPECT_EQ(static_cast<int64_t>(l2_read_bytes(xeon, 56)), kMiB / 4);
  EXPECT_EQ(static_cast<int64_t>(l2_read_bytes(xeon, 1)), kMiB / 2);
  // An EPYC of 12 L3 caches: eight threads may all be on the cores of one of them.
  const CpuFacts epyc = {
      .logical_cores = 96, .l2_bytes = kMiB, .l3_bytes = 32 * kMiB, .l3_instances = 12};
  EXPECT_EQ(read_bytes(epyc, 96), 3 * kMiB);
  EXPECT_EQ(read_bytes(epyc, 8), 3 * kMiB);
  EXPECT_EQ(read_bytes(epyc, 2), 9 * kMiB);
  EXPECT_EQ(read_bytes({.logical_cores = 2}, 2), 5 * kMiB);  // caches unknown: 1 and 16 MiB
  EXPECT_EQ(read_bytes({.logical_cores = 1, .l2_bytes = 1}, 512), 16 * kKiB);
}

// The reading code wants its data aligned to 64 bytes; the presets without optimisation end with a
// signal if they are not.
TEST(MachineProbe, ReadsAlignedDataWithAnyNumberOfThreads) {
  Context context = Context::machine();
  context.threads = 7;
  const MachineProbe probe(context);
  for (int i = 0; i < 3; ++i) EXPECT_GT(probe.sample(Limit::kDramRead), 0.0);
  EXPECT_EQ(probe.buffer_bytes() % (7 * 4096), 0u);
  EXPECT_EQ(probe.buffer_bytes() % probe.trial_bytes(), 0u);
  EXPECT_LE(probe.buffer_bytes() / probe.trial_bytes(), 4u);
}

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
