// Tests, on made-up times, how the tokens of a batch are cut into decode steps.
#include "experiments/kinds/latency/decode.h"

#include <gtest/gtest.h>

namespace reprise::experiments {
namespace {

engine::TokenEvent event(int64_t request, int32_t index, int64_t time_ms) {
  return {.request = request,
          .token = 0,
          .index = index,
          .time_ns = time_ms * 1'000'000,
          .finish = engine::FinishReason::kNone};
}

TEST(SplitSteps, PrefillEndsWithTheLastFirstToken) {
  const std::vector<engine::TokenEvent> events = {event(0, 0, 10), event(1, 0, 20),
                                                  event(0, 1, 25), event(1, 1, 25),
                                                  event(0, 2, 31), event(1, 2, 31)};
  const TimedBatch timed = split_steps(0, events, 2);
  EXPECT_EQ(timed.prefill_ms, 20);
  EXPECT_EQ(timed.step_ms, (std::vector<double>{5, 6}));
}

TEST(SplitSteps, TokensOfEarlySequencesDuringPrefillAreNoSteps) {
  const std::vector<engine::TokenEvent> events = {event(0, 0, 10), event(0, 1, 15),
                                                  event(0, 2, 20), event(1, 0, 20),
                                                  event(0, 3, 24), event(1, 1, 24)};
  const TimedBatch timed = split_steps(5'000'000, events, 2);
  EXPECT_EQ(timed.prefill_ms, 15);
  EXPECT_EQ(timed.step_ms, (std::vector<double>{4}));
}

TEST(SplitSteps, StepOfSeveralEngineStepsCountsWhole) {
  const std::vector<engine::TokenEvent> events = {event(0, 0, 10), event(1, 0, 20), event(0, 1, 30),
                                                  event(1, 1, 40)};
  EXPECT_EQ(split_steps(0, events, 2).step_ms, (std::vector<double>{20}));
}

TEST(SplitSteps, ShortLastRunIsDropped) {
  const std::vector<engine::TokenEvent> events = {event(0, 0, 10), event(1, 0, 10), event(0, 1, 12),
                                                  event(1, 1, 12), event(0, 2, 14)};
  EXPECT_EQ(split_steps(0, events, 2).step_ms, (std::vector<double>{2}));
}

TEST(SplitSteps, OneSequence) {
  const std::vector<engine::TokenEvent> events = {event(7, 0, 3), event(7, 1, 4), event(7, 2, 6)};
  const TimedBatch timed = split_steps(0, events, 1);
  EXPECT_EQ(timed.prefill_ms, 3);
  EXPECT_EQ(timed.step_ms, (std::vector<double>{1, 2}));
}

TEST(SplitSteps, NothingGenerated) { EXPECT_TRUE(split_steps(0, {}, 1).step_ms.empty()); }

}  // namespace
}  // namespace reprise::experiments
