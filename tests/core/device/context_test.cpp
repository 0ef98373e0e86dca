#include "core/device/context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace reprise {
namespace {

TEST(ParallelFor, CallsEveryItemExactlyOnce) {
  for (int threads : {-1, 0, 1, 2, 3, 8})
    for (int64_t items : {-1, 0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(std::max<int64_t>(0, items)));
      parallel_for({.threads = threads}, items, [&](int64_t item, int worker) {
        calls[static_cast<size_t>(item)].fetch_add(1);
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, std::max(1, threads));
      });
      for (const auto& count : calls) EXPECT_EQ(count.load(), 1);
    }
}

// No two items run under one worker's number at once, so each worker may have scratch memory of its
// own.
TEST(ParallelFor, WorkerNumbersAreNotSharedAtOneTime) {
  std::vector<std::atomic<int>> busy(4);
  std::atomic<bool> collided = false;
  parallel_for({.threads = 4}, 2000, [&](int64_t, int worker) {
    if (busy[static_cast<size_t>(worker)].fetch_add(1) != 0) collided = true;
    std::this_thread::yield();
    busy[static_cast<size_t>(worker)].fetch_sub(1);
  });
  EXPECT_FALSE(collided);
}

TEST(ParallelFor, FirstExceptionReachesTheCallerAndStopsTheRest) {
  for (int threads : {1, 2, 4}) {
    std::atomic<int> calls = 0;
    try {
      parallel_for({.threads = threads}, 1000000, [&](int64_t item, int) {
        ++calls;
        if (item == 10) throw std::runtime_error("item 10");
      });
      FAIL() << "no exception with " << threads << " threads";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "item 10");
    }
    EXPECT_LT(calls.load(), 1000000);
  }
}

TEST(ParallelFor, ManyExceptionsAtOnceGiveOne) {
  for (int round = 0; round < 20; ++round)
    EXPECT_THROW(
        parallel_for({.threads = 4}, 64, [](int64_t, int) { throw std::logic_error("x"); }),
        std::logic_error);
}

TEST(ParallelFor, WorksAgainAfterAnException) {
  EXPECT_THROW(parallel_for({.threads = 2}, 8, [](int64_t, int) { throw std::logic_error("x"); }),
               std::logic_error);
  std::atomic<int> workers_seen = 0;
  parallel_for({.threads = 2}, 100, [&](int64_t, int worker) { workers_seen |= 1 << worker; });
  EXPECT_NE(workers_seen.load(), 0);
}

TEST(ParallelFor, NestedCallsRunOnTheirCallersThread) {
  std::atomic<int> wrong_thread = 0, inner_calls = 0;
  parallel_for({.threads = 4}, 8, [&](int64_t, int) {
    const std::thread::id mine = std::this_thread::get_id();
    parallel_for({.threads = 4}, 16, [&](int64_t, int worker) {
      ++inner_calls;
      if (std::this_thread::get_id() != mine || worker != 0) ++wrong_thread;
    });
  });
  EXPECT_EQ(inner_calls.load(), 8 * 16);
  EXPECT_EQ(wrong_thread.load(), 0);
}

TEST(ParallelFor, ExceptionOfANestedCallReachesTheOutermostCaller) {
  EXPECT_THROW(parallel_for({.threads = 3}, 8,
                            [](int64_t, int) {
                              parallel_for({.threads = 3}, 8, [](int64_t item, int) {
                                if (item == 3) throw std::out_of_range("inner");
                              });
                            }),
               std::out_of_range);
}

// Like two engines side by side, several threads may fork at the same time.
TEST(ParallelFor, SeveralThreadsMayForkAtOnce) {
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 10; ++round)
        parallel_for({.threads = 2}, 50, [&](int64_t item, int) { sum += item; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum.load(), 3 * 10 * 50 * 49 / 2);
}

// Items that wait for each other must all run at the same time. The pause before each round leaves
// the helpers polling, just falling asleep, or asleep.
TEST(ParallelFor, HelpersComeWhetherTheyPollOrSleep) {
  constexpr int kThreads = 3;
  for (int round = 0; round < 300; ++round) {
    std::this_thread::sleep_for(std::chrono::microseconds(round % 3 * 70));
    std::atomic<int> here = 0;
    parallel_for({.threads = kThreads}, kThreads, [&](int64_t, int) {
      ++here;
      const auto begin = std::chrono::steady_clock::now();
      while (here < kThreads && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20))
        std::this_thread::yield();
    });
    ASSERT_EQ(here, kThreads) << "round " << round;
  }
}

// The team of a thread that forked lives as long as that thread.
TEST(ParallelFor, ThreadsMayEndAfterForking) {
  std::atomic<int> calls = 0;
  for (int round = 0; round < 50; ++round)
    std::thread([&] { parallel_for({.threads = 4}, 10, [&](int64_t, int) { ++calls; }); }).join();
  EXPECT_EQ(calls, 500);
}

TEST(ParallelFor, TheCallersWritesAreSeenAndTheWorkersWritesComeBack) {
  std::vector<int64_t> values(1000, 1);
  for (int round = 0; round < 10; ++round) {
    for (int64_t& value : values) value += 1;
    parallel_for({.threads = 4}, 1000,
                 [&](int64_t item, int) { values[static_cast<size_t>(item)] *= 2; });
  }
  for (int64_t value : values) EXPECT_EQ(value, 3 * 1024 - 2);
}

TEST(WakeThreads, TellsWhetherAllCame) {
  EXPECT_TRUE(wake_threads({.threads = 1}));
  const int threads = std::min(2, Context::machine().threads);
  int came = 0;  // a busy machine may keep a thread from coming, but not every time
  for (int round = 0; round < 5000 && came == 0; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than a thread polls
    if (wake_threads({.threads = threads})) ++came;
  }
  EXPECT_EQ(came, 1);
  // Inside a parallel_for() there is no team to wake.
  std::atomic<int> woken = 0;
  parallel_for({.threads = 2}, 2, [&](int64_t, int) {
    if (wake_threads({.threads = 2})) ++woken;
  });
  EXPECT_EQ(woken, 0);
}

TEST(Context, MachineHasThreadsAndItsBestInstructionSet) {
  const Context context = Context::machine();
  EXPECT_GE(context.threads, 1);
  EXPECT_EQ(context.isa, best_isa());
}

}  // namespace
}  // namespace reprise
