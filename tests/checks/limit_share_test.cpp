#include "checks/limit_share.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace reprise::checks {
namespace {

constexpr MachineLimits kMachine{.dram_read_gb_s = 60,
                                 .l3_read_gb_s = 200,
                                 .l2_read_gb_s = 400,
                                 .f32_gflop_s = 200,
                                 .bf16_gflop_s = 400};

TEST(NearestLimit, IsTheOneWithTheLargestShare) {
  EXPECT_EQ(nearest_limit({.bytes_per_s = 30e9, .flop_per_s = 100e9}, kMachine), Limit::kDramRead);
  EXPECT_EQ(nearest_limit({.bytes_per_s = 30e9, .flop_per_s = 300e9}, kMachine), Limit::kBf16);
  EXPECT_EQ(nearest_limit({.label = "f32", .bytes_per_s = 30e9, .flop_per_s = 150e9}, kMachine),
            Limit::kF32);
  EXPECT_EQ(nearest_limit({.flop_per_s = 1e9}, kMachine), Limit::kBf16);
}

TEST(NearestLimit, BytesFasterThanDramCanComeFromACache) {
  EXPECT_EQ(nearest_limit({.bytes_per_s = 80e9}, kMachine), Limit::kDramRead);
  EXPECT_EQ(nearest_limit({.bytes_per_s = 150e9}, kMachine), Limit::kL3Read);
  EXPECT_EQ(nearest_limit({.bytes_per_s = 350e9}, kMachine), Limit::kL2Read);
  EXPECT_EQ(nearest_limit({.bytes_per_s = 900e9}, kMachine), Limit::kL2Read);
}

// The benchmark's own counters give the GPU's limit; the processor's limits must not be used.
TEST(NearestLimit, OfAGpuIsTheGpus) {
  const Repetition decode{.bytes_per_s = 2400e9,
                          .flop_per_s = 40e12,
                          .device_bytes_per_s = 3000e9,
                          .device_flop_per_s = 800e12};
  EXPECT_EQ(nearest_limit(decode, kMachine), Limit::kDeviceRead);
  EXPECT_DOUBLE_EQ(device_limit(decode, Limit::kDeviceRead), 3000);
  EXPECT_DOUBLE_EQ(limit_share(decode, Limit::kDeviceRead, 3000), 0.8);
  const Repetition prefill{.bytes_per_s = 300e9,
                           .flop_per_s = 400e12,
                           .device_bytes_per_s = 3000e9,
                           .device_flop_per_s = 800e12};
  EXPECT_EQ(nearest_limit(prefill, kMachine), Limit::kDeviceHalf);
  EXPECT_DOUBLE_EQ(device_limit(prefill, Limit::kDeviceHalf), 800e3);
  EXPECT_DOUBLE_EQ(limit_share(prefill, Limit::kDeviceHalf, 800e3), 0.5);
  const Repetition row{.bytes_per_s = 900e9, .device_bytes_per_s = 3000e9};
  EXPECT_EQ(nearest_limit(row, kMachine), Limit::kDeviceRead);
}

TEST(NearestLimit, OfAGpuWithOneLimitIsThisLimit) {
  const Repetition half_told{
      .name = "Half", .bytes_per_s = 1e9, .flop_per_s = 1e12, .device_bytes_per_s = 3e12};
  EXPECT_EQ(nearest_limit(half_told, kMachine), Limit::kDeviceRead);
  EXPECT_EQ(nearest_limit({.flop_per_s = 1e12, .device_bytes_per_s = 3e12}, kMachine),
            std::nullopt);
  try {
    (void)device_limit(half_told, Limit::kDeviceHalf);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Half has no counter \"device FLOP/s\""),
              std::string::npos)
        << error.what();
  }
}

TEST(NearestLimit, NeedsACounter) { EXPECT_EQ(nearest_limit({}, kMachine), std::nullopt); }

TEST(LimitShare, IsTheCounterOverTheLimit) {
  EXPECT_DOUBLE_EQ(limit_share({.bytes_per_s = 30e9}, Limit::kL3Read, 60), 0.5);
  EXPECT_DOUBLE_EQ(limit_share({.flop_per_s = 30e9}, Limit::kF32, 60), 0.5);
}

TEST(LimitShare, NeedsTheCountersOfItsLimit) {
  EXPECT_TRUE(has_limit_share({.bytes_per_s = 30e9}, Limit::kDramRead));
  EXPECT_FALSE(has_limit_share({.bytes_per_s = 30e9}, Limit::kF32));
  EXPECT_FALSE(has_limit_share({.bytes_per_s = 30e9}, Limit::kDeviceRead));
  EXPECT_TRUE(
      has_limit_share({.bytes_per_s = 30e9, .device_bytes_per_s = 3e12}, Limit::kDeviceRead));
}

TEST(LimitShare, AMissingCounterIsNamed) {
  try {
    (void)limit_share({.name = "Read/8", .bytes_per_s = 30e9}, Limit::kF32, 60);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Read/8"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("FLOP/s"), std::string::npos);
  }
}

}  // namespace
}  // namespace reprise::checks
