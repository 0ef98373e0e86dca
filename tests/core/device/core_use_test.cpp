#include "core/device/core_use.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "core/device/background_work.h"

namespace reprise {
namespace {

void spin_for(std::chrono::milliseconds time) {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < time) {
  }
}

// Runs `fn` in several threads on one core. All threads stay until the first has read what they
// used.
template <typename Fn>
CoreUse on_one_core(int threads, Fn&& fn) {
  std::vector<std::thread> team;
  const int core = sched_getcpu();
  const CoreUse begin = core_use_now();
  CoreUse end;
  std::atomic<bool> is_read = false;
  for (int t = 0; t < threads; ++t)
    team.emplace_back([&, t] {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(core, &set);
      sched_setaffinity(0, sizeof set, &set);
      fn(t);
      if (t == 0) {
        end = core_use_now();
        is_read = true;
      }
      while (!is_read) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  for (std::thread& thread : team) thread.join();
  return end - begin;
}

TEST(CoreUse, CountsTheTimeOfThisProcess) {
  const CoreUse begin = core_use_now();
  spin_for(std::chrono::milliseconds(20));
  const CoreUse use = core_use_now() - begin;
  EXPECT_GE(use.wall_ms, 20);
  EXPECT_GT(use.cpu_ms, 0);
  EXPECT_LE(use.cpu_ms, use.wall_ms + 15);  // the kernel may round to its tick
}

TEST(CoreUse, AThreadThatSleepsLosesNothing) {
  const CoreUse begin = core_use_now();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const CoreUse use = core_use_now() - begin;
  EXPECT_LT(use.cpu_ms, 25);
  EXPECT_GE(use.wall_ms, 50);
}

TEST(CoreUse, SeesACoreThatHasToBeShared) {
  const CoreUse use = on_one_core(2, [](int) { spin_for(std::chrono::milliseconds(100)); });
  if (use.waited_ms == 0) GTEST_SKIP() << "this kernel does not say how long threads wait";
  EXPECT_GT(use.waited_ms, 20);
  EXPECT_GT(use.involuntary_switches, 0);
  EXPECT_TRUE(use.lost_its_core());
}

TEST(CoreUse, BackgroundWorkOfItsOwnTakesNothingFromIt) {
  // Time that no thread of this process had the core is time that other programs took. The wait
  // without the background work is that time; with the background work it would be longer by
  // background_ms. A thread that is moved to the core or started late may shift a try by some
  // milliseconds, so one of several tries is enough.
  bool is_seen = false;
  for (int tries = 0; tries < 20 && !is_seen; ++tries) {
    const CoreUse use = on_one_core(2, [](int thread) {
      thread_local std::optional<BackgroundWork> background;  // until the thread ends
      if (thread == 1) background.emplace();
      spin_for(std::chrono::milliseconds(100));
    });
    if (use.waited_ms == 0) GTEST_SKIP() << "this kernel does not say how long threads wait";
    const double others_ms = use.wall_ms - use.cpu_ms;
    is_seen = use.background_ms > 0 &&
              use.waited_ms - use.background_ms < others_ms + use.background_ms / 2;
  }
  EXPECT_TRUE(is_seen);
}

TEST(CoreUse, JudgesByTheShareThatWasLost) {
  EXPECT_FALSE((CoreUse{.wall_ms = 100, .cpu_ms = 100}.lost_its_core()));
  EXPECT_FALSE((CoreUse{.wall_ms = 100, .cpu_ms = 98, .waited_ms = 4.9}.lost_its_core()));
  EXPECT_TRUE((CoreUse{.wall_ms = 100, .cpu_ms = 90, .waited_ms = 5.1}.lost_its_core()));
  EXPECT_TRUE((CoreUse{.wall_ms = 100, .cpu_ms = 90, .stolen_ms = 10}.lost_its_core()));
  EXPECT_FALSE((CoreUse{.wall_ms = 100, .waited_ms = 20, .background_ms = 18}.lost_its_core()));
  EXPECT_TRUE((CoreUse{.wall_ms = 100, .waited_ms = 26, .background_ms = 18}.lost_its_core()));
  // Threads that wake wait some microseconds for a free core.
  EXPECT_FALSE((CoreUse{.wall_ms = 0.3, .waited_ms = 0.05}.lost_its_core()));
  EXPECT_TRUE((CoreUse{.wall_ms = 0.3, .waited_ms = 0.2}.lost_its_core()));
}

}  // namespace
}  // namespace reprise
