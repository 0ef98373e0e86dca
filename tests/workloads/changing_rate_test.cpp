// Tests clocks of changing rates, which give the time by which x requests are expected.
#include "workloads/changing_rate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace reprise::workloads {
namespace {

// The integral of the rate up to time_s(x) is x.
TEST(RampClock, InvertsWhatTheRateSumsUpTo) {
  for (const auto& [from, to] :
       {std::pair{0.0, 8.0}, {8.0, 2.0}, {5.0, 5.0}, {1e-9, 1e6}, {3, 3.0000001}}) {
    const RampClock clock{.from_rps = from, .to_rps = to, .ramp_s = 60};
    const double on_ramp = (from + to) / 2 * 60;
    double last = 0;
    for (int i = 0; i <= 200; ++i) {
      const double x = on_ramp * i / 100;
      const double t = clock.time_s(x);
      EXPECT_GE(t, last);
      last = t;
      const double in = std::min(t, 60.0);
      const double summed = from * in + (to - from) * in * in / 120 + to * (t - in);
      EXPECT_NEAR(summed, x, 1e-9 * (1 + on_ramp)) << from << " to " << to << " x " << x;
    }
    EXPECT_EQ(clock.time_s(0), 0);
    EXPECT_DOUBLE_EQ(clock.time_s(on_ramp), 60);
  }
}

TEST(BurstClock, SkipsTheTimeBetween) {
  const BurstClock silent{.burst_rps = 10, .between_rps = 0, .burst_s = 2, .between_s = 5};
  EXPECT_DOUBLE_EQ(silent.time_s(0), 0);
  EXPECT_DOUBLE_EQ(silent.time_s(10), 1);
  EXPECT_DOUBLE_EQ(silent.time_s(30), 8);   // 20 in the first burst, half of the second
  EXPECT_DOUBLE_EQ(silent.time_s(50), 15);  // one second after the start of the third burst
  const BurstClock both{.burst_rps = 10, .between_rps = 2, .burst_s = 2, .between_s = 5};
  EXPECT_DOUBLE_EQ(both.time_s(20), 2);
  EXPECT_DOUBLE_EQ(both.time_s(25), 4.5);
  EXPECT_DOUBLE_EQ(both.time_s(30), 7);
  EXPECT_DOUBLE_EQ(both.time_s(35), 7.5);
  double last = 0;
  for (int i = 0; i < 5000; ++i) {
    const double t = both.time_s(0.037 * i);
    EXPECT_GE(t, last) << i;
    last = t;
  }
}

}  // namespace
}  // namespace reprise::workloads
