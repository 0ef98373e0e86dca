// Tests how samples that lost their core are taken again. Two threads on one core provoke the loss.
#include "experiments/framework/undisturbed.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "results/record.h"
#include "results/statistics.h"
#include "tests/support/busy_thread.h"
#include "tests/support/json.h"

namespace reprise::experiments {
namespace {

using reprise::testing::beside_a_busy_thread;

const MetricInfo kTime = {"time_ms", "ms", "of a piece of work"};

void spin_for_ms(int time) {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(time)) {
  }
}

class UndisturbedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    CoreUse use;
    beside_a_busy_thread([&] {
      const CoreUse begin = core_use_now();
      spin_for_ms(30);
      use = core_use_now() - begin;
    });
    if (use.waited_ms == 0) GTEST_SKIP() << "this kernel does not say how long threads wait";
  }
};

TEST_F(UndisturbedTest, WorkThatNeverKeepsItsCoreIsRepeatedWithinBounds) {
  Undisturbed taking(4);
  int calls = 0, prepared = 0;
  constexpr int kWorkMs = 60;
  beside_a_busy_thread([&] {
    for (int sample = 0; sample < 6; ++sample)
      taking.take([&] { ++prepared; },
                  [&] {
                    spin_for_ms(kWorkMs);
                    return ++calls;
                  });
  });
  // Each of the first two samples is taken two more times. Later ones are taken again only as often
  // as the budget for short work allows.
  const auto most_short = static_cast<int64_t>(Undisturbed::kShortBudgetMs / kWorkMs);
  EXPECT_EQ(calls, 6 + taking.retaken());
  EXPECT_EQ(prepared, calls);
  EXPECT_GE(taking.retaken(), 4);
  EXPECT_LE(taking.retaken(), 4 + most_short);
  EXPECT_EQ(taking.disturbed(), 6);
}

TEST_F(UndisturbedTest, ShortWorkIsRepeatedUntilItKeepsItsCore) {
  constexpr int kSamples = 5;
  Undisturbed taking(kSamples);
  beside_a_busy_thread([&] {
    for (int sample = 0; sample < kSamples; ++sample)
      taking.take([] {}, [] { return spin_for_ms(1), 1; });
  });
  EXPECT_LT(taking.disturbed(), kSamples);
}

TEST_F(UndisturbedTest, TheTryThatLostTheLeastCounts) {
  Undisturbed taking(2);
  int calls = 0, best = 0;
  beside_a_busy_thread([&] {
    best = taking.take([] {},
                       [&] {
                         // The second try sleeps before it spins. Asleep, a thread loses nothing.
                         if (++calls == 2) std::this_thread::sleep_for(std::chrono::seconds(1));
                         spin_for_ms(300);
                         return calls;
                       });
  });
  EXPECT_EQ(best, 2);
  EXPECT_GE(calls, 3);
}

TEST_F(UndisturbedTest, WhatKeptItsCoreCounts) {
  Undisturbed taking(10);
  int calls = 0;
  beside_a_busy_thread([&] {
    EXPECT_EQ(taking.take([] {},
                          [&] {
                            // The second try returns at once, too soon to lose anything that
                            // counts.
                            if (++calls == 1) spin_for_ms(30);
                            return calls;
                          }),
              2);
  });
  EXPECT_EQ(taking.disturbed(), 0);
  EXPECT_EQ(taking.retaken(), 1);
}

TEST_F(UndisturbedTest, WhatFollowsFromDisturbedSamplesIsMarkedAndTheRecordRemarksOnIt) {
  const MetricInfo rate = {"rate", "1/s", ""}, share = {"share", "ratio", ""},
                   length = {"length", "tokens", ""};
  Undisturbed taking(0);
  Measurement out;
  std::vector<double> times;
  beside_a_busy_thread(
      [&] { times.push_back(taking.take([] {}, [] { return spin_for_ms(30), 30.0; })); });
  taking.add_to(out);
  out.sample(kTime, times);
  out.derive(rate, kTime, [](double time_ms) { return 1e3 / time_ms; });
  out.summarize_timed(share, {0.5});
  out.summarize(length, {3});
  for (const char* name : {"time_ms", "rate", "share"}) EXPECT_TRUE(out.metrics[name].disturbed);
  EXPECT_FALSE(out.metrics["length"].disturbed);
  EXPECT_EQ(out.core_use->disturbed, 1);
  EXPECT_EQ(out.core_use->waited_ms.size(), 1u);
  const std::vector<std::string> remarks = results::remarks_on(out.metrics);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("1 of 1 samples lost their cores"), std::string::npos) << remarks[0];
}

TEST_F(UndisturbedTest, WhatKeptItsCoreBesideAnotherProgramIsMarkedToo) {
  Undisturbed beside(10), passing(10);
  const auto take = [](Undisturbed& taking, int lost) {
    int calls = 0;
    taking.take([] {},
                [&] {
                  if (++calls <= lost) spin_for_ms(30);
                  return 0;
                });
  };
  beside_a_busy_thread([&] {
    for (int lost : {1, 0}) take(beside, lost);
    for (int lost : {1, 0, 0}) take(passing, lost);
  });
  ASSERT_EQ(beside.disturbed() + passing.disturbed(), 0);
  const auto marked = [&](const Undisturbed& taking) {
    Measurement out;
    taking.add_to(out);
    out.sample(kTime, {1, 1});
    return out;
  };
  const Measurement out = marked(beside);
  EXPECT_EQ(out.metrics.at("time_ms").disturbed, results::disturbed_mark(0, 2, 1));
  const std::vector<std::string> remarks = results::remarks_on(out.metrics);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("1 of 3 tries lost their cores"), std::string::npos) << remarks[0];
  EXPECT_FALSE(marked(passing).metrics.at("time_ms").disturbed);
  Measurement compared;
  const MetricInfo speedup = {"speedup", "ratio", ""};
  compared.summarize(speedup, {2.0});
  passing.mark_comparison(beside, speedup, compared);
  EXPECT_TRUE(compared.metrics["speedup"].disturbed);
}

TEST_F(UndisturbedTest, AComparisonIsMarkedWhereEitherSideWasDisturbed) {
  const MetricInfo speedup = {"speedup", "ratio", ""};
  Undisturbed calm(0), busy(0);
  calm.take([] {}, [] { return 0; });
  calm.take([] {}, [] { return 0; });
  busy.take([] {}, [] { return 0; });
  beside_a_busy_thread([&] { busy.take([] {}, [] { return spin_for_ms(30), 0; }); });
  for (const auto& [of, over] : {std::pair{&calm, &busy}, std::pair{&busy, &calm}}) {
    Measurement out;
    out.summarize(speedup, {2.0});
    of->mark_comparison(*over, speedup, out);
    EXPECT_EQ(out.metrics.at("speedup").disturbed, results::disturbed_mark(1, 2, 0));
  }
  Measurement out;
  out.summarize(speedup, {2.0});
  calm.mark_comparison(calm, speedup, out);
  EXPECT_FALSE(out.metrics["speedup"].disturbed);
}

TEST(UndisturbedAlone, RecordsTheUseOfEachSample) {
  Undisturbed taking(0);
  Measurement out;
  std::vector<double> times;
  for (int sample = 0; sample < 3; ++sample)
    times.push_back(taking.take([] {}, [] { return spin_for_ms(2), 2.0; }));
  taking.add_to(out);
  out.sample(kTime, times);
  EXPECT_EQ(out.core_use->involuntary_switches.size(), 3u);
  for (const auto* values : {&out.core_use->wall_ms, &out.core_use->cpu_ms,
                             &out.core_use->waited_ms, &out.core_use->stolen_ms})
    EXPECT_EQ(values->size(), 3u);
  for (const double wall_ms : out.core_use->wall_ms) EXPECT_GE(wall_ms, 2);
}

}  // namespace
}  // namespace reprise::experiments
