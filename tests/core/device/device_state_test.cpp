#include "core/device/cuda/device_state.h"

#include <gtest/gtest.h>

namespace reprise::cuda {
namespace {

TEST(DeviceState, ClocksPowerAndThrottlingAreToldByNvml) {
  const DeviceMonitor monitor("0000:3B:00.0", REPRISE_FAKE_NVML);
  ASSERT_EQ(monitor.absence(), "");
  const DeviceState state = monitor.state();
  EXPECT_EQ(state.sm_mhz, 1755);
  EXPECT_EQ(state.most_sm_mhz, 1980);
  EXPECT_EQ(state.memory_mhz, 2619);
  EXPECT_EQ(state.most_memory_mhz, 2619);
  EXPECT_DOUBLE_EQ(state.power_w, 698.5);
  EXPECT_DOUBLE_EQ(state.power_limit_w, 700.0);
  EXPECT_EQ(state.temperature_c, -1) << "the device does not tell";
  EXPECT_EQ(monitor.state_fields().at("throttled_by"),
            Value(Values{"power cap", "hardware thermal"}));
}

TEST(DeviceState, AMachineWithoutNvmlSaysSo) {
  const DeviceMonitor monitor("0000:3B:00.0", "libno-such-nvml.so.1");
  EXPECT_NE(monitor.absence().find("libno-such-nvml.so.1 cannot be loaded"), std::string::npos)
      << monitor.absence();
  EXPECT_EQ(monitor.state().sm_mhz, -1);
  EXPECT_EQ(monitor.state_fields(), (Fields{{"absent", monitor.absence()}}));
}

TEST(DeviceState, ALibraryThatIsNotNvmlSaysSo) {
  const DeviceMonitor monitor("0000:3B:00.0", "libm.so.6");
  EXPECT_EQ(monitor.absence(), "libm.so.6 lacks a function of NVML");
}

TEST(DeviceState, AnUnknownDeviceIsNamed) {
  const DeviceMonitor monitor("0000:00:00.0", REPRISE_FAKE_NVML);
  EXPECT_EQ(monitor.absence(), "NVML does not know the device at 0000:00:00.0: Not Found");
}

TEST(DeviceState, AnIdleDeviceIsNotThrottled) {
  EXPECT_TRUE(throttle_names(0x1 | 0x2 | 0x100).empty());
  EXPECT_EQ(throttle_names(0x8 | 0x10 | 0x20 | 0x80).size(), 4u);
}

}  // namespace
}  // namespace reprise::cuda
