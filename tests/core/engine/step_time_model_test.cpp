// Tests the engine with modelled step times: how long a modelled step takes, and that long traces
// run in bounded memory.
#include "core/engine/step_time_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>

#include "methods/registry.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/counting_decoder.h"
#include "tests/support/json.h"
#include "tests/support/replay.h"

namespace reprise::engine {
namespace {

using model::expect_error;
using testing::ReplayCount;
using testing::ReplayTrace;
using testing::tokens_of;

constexpr StepTimes kTimes{.step_s = 1.0, .row_s = 0.01, .context_token_s = 0.0001};

class Modelled : public ::testing::Test {
 protected:
  Engine make(const char* method, const char* method_options, EngineOptions options,
              const StepTimes& times = kTimes, int64_t window = 0) {
    model::ModelConfig config = testing::replay_config();
    config.sliding_window = window;
    options.clock_ns = [clock = clock_] { return clock->now_ns(); };
    return {Context{.threads = 1}, std::make_unique<StepTimeModel>(config, times, clock_),
            methods::make_cache(method, Json::parse(method_options)), options};
  }
  static double seconds_of(const StepReport& report) {
    return static_cast<double>(report.end_ns - report.start_ns) * 1e-9;
  }
  std::shared_ptr<VirtualClock> clock_ = std::make_shared<VirtualClock>();
};

TEST_F(Modelled, AStepTakesTheTimeOfItsRowsAndOfWhatItReads) {
  Engine engine = make("paged", "{}", {.limits = {.max_batch = 4, .max_sequence_tokens = 200}});
  for (RequestId id : {1, 2})
    engine.submit({.id = id, .prompt = std::vector<int32_t>(100, 7), .max_new_tokens = 3});
  EXPECT_NEAR(seconds_of(engine.step()), 1 + 0.01 * 200 + 0.0001 * 200, 1e-9);
  EXPECT_NEAR(seconds_of(engine.step()), 1 + 0.01 * 2 + 0.0001 * 202, 1e-9);
  EXPECT_NEAR(seconds_of(engine.step()), 1 + 0.01 * 2 + 0.0001 * 204, 1e-9);
  EXPECT_FALSE(engine.has_work());
  (void)engine.step();
  EXPECT_NEAR(static_cast<double>(clock_->now_ns()) * 1e-9, 3 + 0.01 * 204 + 0.0001 * 606, 1e-8)
      << "a step without work takes none";
}

TEST_F(Modelled, TokensOutsideTheSlidingWindowAreNotRead) {
  for (const char* method : {"paged", "chunk_attention"}) {
    Engine engine =
        make(method, "{}", {.limits = {.max_batch = 1, .max_sequence_tokens = 200}}, kTimes, 50);
    engine.submit({.id = 1, .prompt = std::vector<int32_t>(100, 7), .max_new_tokens = 4});
    (void)engine.step();
    const int64_t token_bytes = engine.pool().block_bytes() / engine.pool().options().block_tokens;
    for (int token = 1; token < 4; ++token) {
      const StepReport report = engine.step();
      EXPECT_NEAR(seconds_of(report), 1 + 0.01 + 0.0001 * 50, 1e-9) << method;
      EXPECT_EQ(report.read_bytes, 50 * token_bytes) << method;
    }
  }
}

// The modelled time reflects what each method shares according to its plans.
TEST_F(Modelled, WhatIsReadOnceForSeveralCountsOnce) {
  const auto decode_s = [&](const char* method) {
    Engine engine =
        make(method, "{}",
             {.limits = {.max_batch = 4, .max_sequence_tokens = 300}, .step_tokens = 1000});
    for (RequestId id : {1, 2, 3, 4}) {
      std::vector<int32_t> prompt(200, 7);
      prompt.back() = static_cast<int32_t>(id);
      engine.submit({.id = id, .prompt = prompt, .max_new_tokens = 5});
    }
    (void)engine.step();
    return seconds_of(engine.step());
  };
  EXPECT_NEAR(decode_s("paged"), 1.04 + 0.0001 * 4 * 201, 1e-9);
  EXPECT_NEAR(decode_s("paged_shared"), 1.04 + 0.0001 * 4 * 201, 1e-9);
  EXPECT_NEAR(decode_s("chunk_attention"), 1.04 + 0.0001 * (192 + 4 * 9), 1e-9);
}

TEST_F(Modelled, TokensDependOnSeedRequestAndIndexAlone) {
  const auto run = [&](int32_t max_batch, const char* method, uint64_t seed) {
    Engine engine =
        make(method, "{}", {.limits = {.max_batch = max_batch, .max_sequence_tokens = 60}});
    for (RequestId id : {1, 2, 3})
      engine.submit({.id = id, .prompt = {5, 6}, .max_new_tokens = 9, .sampling = {.seed = seed}});
    return tokens_of(engine.run());
  };
  EXPECT_EQ(run(1, "contiguous", 1), run(3, "chunk_attention", 1));
  EXPECT_NE(run(1, "contiguous", 1), run(1, "contiguous", 2));
}

// A cache of terabytes, and swapped states, both of which take no memory.
TEST_F(Modelled, TheCacheTakesNoMemory) {
  Engine large =
      make("paged", "{}",
           {.limits = {.max_batch = 2, .max_sequence_tokens = 60}, .num_blocks = 1'000'000});
  EXPECT_GT(static_cast<double>(large.pool().block_bytes()) * 1e6, 2e12);
  large.submit({.id = 1, .prompt = {1, 2}, .max_new_tokens = 4});
  EXPECT_EQ(tokens_of(large.run()).at(1).size(), 4u);

  Engine tight = make("paged", R"({"block_tokens": 16})",
                      {.limits = {.max_batch = 4, .max_sequence_tokens = 80},
                       .num_blocks = 9,
                       .swap = {.preemption = Preemption::kSwapHost}});
  for (RequestId id : {1, 2, 3})
    tight.submit({.id = id, .prompt = std::vector<int32_t>(20, 3), .max_new_tokens = 60});
  EXPECT_EQ(tokens_of(tight.run()).size(), 3u);
  EXPECT_GT(tight.swap_stats().swapped_in, 0);
  EXPECT_GT(tight.swap_stats().peak_bytes, 0);
  EXPECT_EQ(tight.pool().used_blocks(), 0);
}

TEST_F(Modelled, MistakesAreNamed) {
  for (const double bad : {-1e-9, std::nan(""), HUGE_VAL}) {
    expect_error([&] { StepTimeModel({}, {.step_s = bad}, clock_); }, {"step_s"});
    expect_error([&] { StepTimeModel({}, {.row_s = bad}, clock_); }, {"row_s"});
    expect_error([&] { StepTimeModel({}, {.context_token_s = bad}, clock_); }, {"context_token_s"});
  }
  Engine engine = make("paged", "{}", {.limits = {.max_sequence_tokens = 60}});
  engine.observe_logits([](const LogitsRow&) {});
  engine.submit({.id = 1, .prompt = {1}, .logits = LogitsMode::kDrawn});
  expect_error([&] { (void)engine.step(); }, {"no logits"});
  expect_error([&] { (void)engine.step(); }, {"no logits"});
}

// Kilobytes of this process in memory.
int64_t resident_kib() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * 4;
}

// Ten times as many requests take ten times the work and not a byte more.
TEST(Replay, LongTracesRunInBoundedMemory) {
  for (const std::string policy : {"first_come", "prefix_affine"}) {
    SCOPED_TRACE(policy);
    const auto clock = std::make_shared<VirtualClock>();
    ReplayTrace trace{.requests = 10'000, .rate_rps = 1400};
    Engine engine = testing::replay_engine(trace, clock, policy);
    const ReplayCount few = testing::replay(engine, *clock, trace);
    EXPECT_EQ(few.served, trace.requests);
    const int64_t before_kib = resident_kib();
    trace.requests = 100'000;
    trace.seed = 2;
    const ReplayCount many = testing::replay(engine, *clock, trace);
    EXPECT_EQ(many.served, trace.requests);
    EXPECT_LT(resident_kib() - before_kib, 8 * 1024);
    EXPECT_NEAR(static_cast<double>(many.rows) / static_cast<double>(10 * few.rows), 1, 0.05);
    EXPECT_GT(many.cached_tokens, many.served * 100) << "heads of 128 tokens are found again";
    std::printf("%-16s most waiting %ld and %ld, %.2f and %.2f us of scheduling a request\n",
                policy.c_str(), few.most_waiting, many.most_waiting,
                static_cast<double>(few.scheduling_ns) * 1e-3 / 1e4,
                static_cast<double>(many.scheduling_ns) * 1e-3 / 1e5);
  }
}

}  // namespace
}  // namespace reprise::engine
