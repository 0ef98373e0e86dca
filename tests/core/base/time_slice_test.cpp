#include "core/base/time_slice.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "core/base/threads.h"

namespace reprise {
namespace {

// The time slice that this system grants. A thread of its own asks for it, so that the calling
// thread keeps its slice.
uint64_t granted_ns() {
  std::optional<uint64_t> granted;
  std::thread([&] {
    ask_for_short_slices();
    granted = asked_slice_ns();
  }).join();
  return granted.value_or(0);
}

TEST(TimeSlice, IsOfTheThreadThatAsksAndOfThoseItStarts) {
  const uint64_t granted = granted_ns();
  if (granted == 0) GTEST_SKIP() << "this system grants no slices of its own";
  EXPECT_LE(granted, 1'000'000u);
  EXPECT_NE(asked_slice_ns(), granted) << "another thread asked";
  std::atomic<int> short_ones = 0, threads = 0;
  std::thread([&] {
    ask_for_short_slices();
    auto look = [&](int64_t, int) {
      ++threads;
      if (asked_slice_ns() == granted) ++short_ones;
    };
    detail::run_parallel(3, 60, &look, [](void* state, int64_t item, int worker) {
      (*static_cast<decltype(look)*>(state))(item, worker);
    });
  }).join();
  EXPECT_EQ(threads, 60);
  EXPECT_EQ(short_ones, 60);
}

TEST(TimeSlice, LeavesPolicyAndNicenessAsTheyAre) {
  std::thread([] {
    const sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    ASSERT_EQ(setpriority(PRIO_PROCESS, 0, 5), 0);  // on Linux this changes only this thread
    ask_for_short_slices();
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 5);
  }).join();
}

TEST(TimeSlice, AsksNothingUnderAnotherPolicy) {
  std::thread([] {
    const sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_IDLE, &none), 0);
    const std::optional<uint64_t> before = asked_slice_ns();
    ask_for_short_slices();
    EXPECT_EQ(sched_getscheduler(0), SCHED_IDLE);
    EXPECT_EQ(asked_slice_ns(), before);
  }).join();
}

}  // namespace
}  // namespace reprise
