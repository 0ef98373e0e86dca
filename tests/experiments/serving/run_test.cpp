// Tests the life cycle of a run on a simulated server all of whose times are known.
#include "experiments/serving/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "core/base/error.h"
#include "experiments/framework/kind.h"
#include "experiments/serving/metrics.h"
#include "tests/experiments/serving/simulated_server.h"

namespace reprise::experiments::serving {
namespace {

workloads::ArrivalSchedule every(double gap_s, int64_t count) {
  workloads::ArrivalSchedule schedule;
  for (int64_t i = 1; i <= count; ++i)
    schedule.intended_s.push_back(gap_s * static_cast<double>(i));
  return schedule;
}

RunOptions few_rules() { return {.rules = {.least_duration_s = 0, .least_requests = 1}}; }

TEST(ServingRun, EachRequestHasTheTimesOfTheServer) {
  FakeClock clock;
  SimulatedServer server(clock, {});
  const EvenSource source;
  const RunResult result = run(server, source, every(10, 10), few_rules(), clock);
  ASSERT_EQ(result.log.requests.size(), 10u);
  for (const RequestEntry& entry : result.log.requests) {
    const double due_s = 10.0 * static_cast<double>(entry.index + 1);
    EXPECT_NEAR(entry.intended_s, due_s, 1e-9);
    EXPECT_NEAR(entry.sent_s, due_s, 1e-9);
    EXPECT_NEAR(entry.admitted_s, due_s, 1e-9);
    ASSERT_EQ(entry.token_s.size(), 3u);
    EXPECT_NEAR(entry.token_s[0], due_s + 1, 1e-9);
    EXPECT_NEAR(entry.token_s[2], due_s + 1.5, 1e-9);
    EXPECT_EQ(entry.prompt_tokens, 8);
    EXPECT_EQ(entry.cached_tokens, 4);
    EXPECT_EQ(entry.tokens, (std::vector<int32_t>{7, 7, 7}));
  }
  EXPECT_TRUE(result.verdict.is_valid());
  EXPECT_TRUE(result.was_flushed);
}

TEST(ServingRun, WithoutTheGapsTheOtherFiguresStayWhatTheyAre) {
  const EvenSource source;
  const auto measured = [&](bool keeps_gaps) {
    FakeClock clock;
    SimulatedServer server(clock, {});
    RunOptions options = few_rules();
    options.keeps_gaps = keeps_gaps;
    return measure(run(server, source, every(1, 10), options, clock), {});
  };
  Measurement all = measured(true);
  const Measurement few = measured(false);
  EXPECT_EQ(all.samples, few.samples);
  EXPECT_TRUE(all.metrics.contains("itl_ms"));
  EXPECT_FALSE(few.metrics.contains("itl_ms"));
  EXPECT_FALSE(few.answers.contains("tokens_hash"));
  all.metrics.erase("itl_ms");
  EXPECT_EQ(all.metrics, few.metrics);
}

// The queue belongs to the server: latency counts from the intended arrival, and so includes the
// wait for the requests before.
TEST(ServingRun, ASlowServerCannotHideItsQueue) {
  FakeClock clock;
  SimulatedServer server(clock, {});
  const EvenSource source;
  const RunResult result = run(server, source, every(1, 10), few_rules(), clock);
  for (const RequestEntry& entry : result.log.requests)
    EXPECT_NEAR(latency_of(entry).ttft_s, 1 + 0.5 * static_cast<double>(entry.index), 1e-9);
}

TEST(ServingRun, AClosedLoopSendsAsAnswersCome) {
  FakeClock clock;
  SimulatedServer server(clock, {.lanes = 4});
  EvenSource source;
  source.count = 12;
  const workloads::ArrivalSchedule closed = {.intended_s = std::vector<double>(12, 0.0),
                                             .most_in_flight = 4};
  const RunResult result = run(server, source, closed, few_rules(), clock);
  for (const RequestEntry& entry : result.log.requests) {
    EXPECT_NEAR(entry.intended_s, 1.5 * static_cast<double>(entry.index / 4), 1e-9);
    EXPECT_NEAR(latency_of(entry).ttft_s, 1, 1e-9);
  }
}

// Two conversations of three turns: requests 0, 2, 4 and requests 1, 3, 5. A user's text has one
// token and an answer two. The source's own answers consist of 50s.
class TwoConversations final : public workloads::RequestSource {
 public:
  [[nodiscard]] int64_t size() const override { return 6; }
  [[nodiscard]] Lengths lengths(int64_t index) const override { return {1 + 3 * (index / 2), 2}; }
  [[nodiscard]] std::vector<std::vector<int64_t>> waits_for() const override {
    return {{}, {}, {0}, {1}, {2}, {3}};
  }
  [[nodiscard]] workloads::ServingRequest request(int64_t index) const override {
    workloads::ServingRequest request{.output_tokens = 2};
    for (int64_t turn = 0; turn <= index / 2; ++turn) {
      request.prompt.push_back(static_cast<int32_t>(10 * (index % 2) + turn));
      if (turn == index / 2) break;
      request.answers.push_back(
          {.request = 2 * turn + index % 2, .first = std::ssize(request.prompt), .tokens = 2});
      request.prompt.insert(request.prompt.end(), 2, 50);
    }
    return request;
  }
};

workloads::ArrivalSchedule sessions(int64_t most) {
  workloads::ArrivalSchedule schedule = workloads::make_schedule(
      "sessions", {.most_in_flight = most, .waits_for = TwoConversations().waits_for()}, 6);
  schedule.pause_s = {0, 0, 3, 4, 5, 6};
  return schedule;
}

TEST(ServingRun, ATurnWaitsForTheAnswerBeforeItAndHasItInItsPrompt) {
  FakeClock clock;
  SimulatedServer server(clock, {.lanes = 2});
  const RunResult result = run(server, TwoConversations(), sessions(2), few_rules(), clock);
  // An answer takes 1.25 s.
  const double intended_s[] = {0, 0, 4.25, 5.25, 10.5, 12.5};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(result.log.requests[i].index, static_cast<int64_t>(i));
    EXPECT_NEAR(result.log.requests[i].intended_s, intended_s[i], 1e-9) << i;
    EXPECT_NEAR(result.log.requests[i].sent_s, intended_s[i], 1e-9) << i;
  }
  EXPECT_EQ(server.tokens[5], (std::vector<int32_t>{10, 7, 7, 11, 7, 7, 12}));
  EXPECT_EQ(result.own_answers, 2 * (1 + 2));
  EXPECT_EQ(result.invented_answers, 0);
}

TEST(ServingRun, WithoutTheGapsATurnHasTheAnswerInItsPromptToo) {
  FakeClock clock;
  SimulatedServer server(clock, {.lanes = 2});
  RunOptions options = few_rules();
  options.keeps_gaps = false;
  const RunResult result = run(server, TwoConversations(), sessions(2), options, clock);
  EXPECT_EQ(server.tokens[5], (std::vector<int32_t>{10, 7, 7, 11, 7, 7, 12}));
  EXPECT_EQ(result.invented_answers, 0);
  for (const RequestEntry& entry : result.log.requests) EXPECT_TRUE(entry.tokens.empty());
}

TEST(ServingRun, AConversationBeginsWhenOneEnds) {
  FakeClock clock;
  SimulatedServer server(clock, {.lanes = 2});
  const RunResult result = run(server, TwoConversations(), sessions(1), few_rules(), clock);
  EXPECT_NEAR(result.log.requests[4].done_s, 11.75, 1e-9);
  EXPECT_NEAR(result.log.requests[1].intended_s, 11.75, 1e-9);
}

// Requests 1 and 2 are agents that work for request 0's conversation. Request 4 waits for both.
// Request 3 is another conversation, which begins when 4 has ended.
TEST(ServingRun, AgentsWorkAtOnceAndTheirAnswersAreWaitedFor) {
  FakeClock clock;
  SimulatedServer server(clock, {.lanes = 4});
  EvenSource source;
  source.count = 6;
  workloads::ArrivalSchedule schedule = workloads::make_schedule(
      "sessions", {.most_in_flight = 1, .waits_for = {{}, {0}, {0}, {}, {0, 1, 2}, {3}}}, 6);
  schedule.pause_s = {0, 1, 2, 0, 0.5, 0};
  const RunResult result = run(server, source, schedule, few_rules(), clock);
  const auto& requests = result.log.requests;
  const double took = requests[0].done_s;
  const double intended_s[] = {
      0, took + 1, took + 2, 3 * took + 2.5, 2 * took + 2.5, 4 * took + 2.5};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(requests[i].intended_s, intended_s[i], 1e-9) << i;
}

// Answers of the source replace those of requests that failed.
TEST(ServingRun, AConversationGoesOnAfterARequestThatFailed) {
  FakeClock clock;
  SimulatedServer server(clock, {.lanes = 2, .fail_every = 3});
  const RunResult result = run(server, TwoConversations(), sessions(2), few_rules(), clock);
  EXPECT_EQ(result.log.requests[2].outcome, Outcome::kFailed);
  EXPECT_EQ(server.tokens[4], (std::vector<int32_t>{0, 7, 7, 1, 50, 50, 2}));
  EXPECT_EQ(result.invented_answers, 1);
  EXPECT_EQ(result.own_answers, 5);
}

TEST(ServingRun, WarmsFlushesAndPrimesBeforeItMeasures) {
  FakeClock clock;
  SimulatedServer server(clock, {});
  const EvenSource source;
  RunOptions options = few_rules();
  options.warmup = unrelated_requests(source, 3, 1000, 1);
  options.primes = true;
  std::vector<size_t> sent_before;  // requests, and declared prefixes, before each call
  options.on_start = [&] {
    sent_before.push_back(server.prompts.size());
    sent_before.push_back(server.declared.size());
  };
  const RunResult result = run(server, source, every(10, 10), options, clock);
  EXPECT_EQ(sent_before, (std::vector<size_t>{3, 1}));
  EXPECT_EQ(server.flushes, 2);
  EXPECT_EQ(server.prompts.size(), 13u);
  EXPECT_EQ(server.declared, std::vector<std::string>{"system"});
  EXPECT_NEAR(result.prime_s, 2, 0.11);                           // seen at the next look
  EXPECT_NEAR(result.log.requests.front().intended_s, 10, 1e-9);  // time 0 is after all that
  EXPECT_EQ(result.log.requests.size(), 10u);
}

TEST(ServingRun, WarmUpPromptsAreOfTheSameLengthsAndOfOtherTokens) {
  EvenSource source;
  source.prompt = 64;
  source.shared = 32;
  const auto warm = unrelated_requests(source, 100, 32000, 3);
  ASSERT_EQ(warm.size(), 10u);  // the source has no more
  std::set<std::vector<int32_t>> prompts;
  for (const workloads::ServingRequest& request : warm) {
    EXPECT_EQ(request.prompt.size(), 64u);
    EXPECT_EQ(request.output_tokens, 3);
    EXPECT_NE(std::vector<int32_t>(request.prompt.begin(), request.prompt.begin() + 4),
              (std::vector<int32_t>{0, 1, 2, 3}));
    prompts.insert(request.prompt);
  }
  EXPECT_EQ(prompts.size(), 10u);
}

TEST(ServingRun, AWarmUpThatFailsIsAnError) {
  FakeClock clock;
  SimulatedServer server(clock, {.fail_every = 2});
  const EvenSource source;
  RunOptions options = few_rules();
  options.warmup = unrelated_requests(source, 2, 1000, 1);
  try {
    (void)run(server, source, every(10, 10), options, clock);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("warming up: request 1 of 2: status 500"),
              std::string::npos)
        << error.what();
  }
}

TEST(ServingRun, ErrorsAreCountedAndTheRunGoesOn) {
  FakeClock clock;
  SimulatedServer server(clock, {.fail_every = 5});
  const EvenSource source;
  const RunResult result = run(server, source, every(10, 10), few_rules(), clock);
  EXPECT_FALSE(result.verdict.is_valid());
  EXPECT_NE(result.verdict.reasons.front().find("2 of 10 requests were not served, 2 of them: "
                                                "status 500"),
            std::string::npos);
  EXPECT_EQ(measure(result.log, {}).samples["ttft_ms"].size(), 8u);
}

TEST(ServingRun, StopsWhereTheQueueOnlyGrowsAndKeepsWhatItHas) {
  FakeClock clock;
  SimulatedServer server(clock, {});
  EvenSource source;
  source.count = 100000;
  RunOptions options = few_rules();
  options.growth = {.window_arrivals = 20, .windows = 3, .least_backlog = 30};
  const RunResult result = run(server, source, every(0.5, source.count), options, clock);
  EXPECT_LT(result.log.requests.size(), 200u);
  EXPECT_FALSE(result.verdict.is_valid());
  EXPECT_NE(result.stop_reason.find("the queue only grew"), std::string::npos);
  EXPECT_EQ(result.verdict.reasons.front(), result.stop_reason);
  FakeClock same;
  SimulatedServer late(same, {.tells_late = true});
  EXPECT_EQ(run(late, source, every(0.5, source.count), options, same).stop_reason,
            result.stop_reason);
  const Measurement partial = measure(result.log, {});
  EXPECT_TRUE(partial.metrics.contains("ttft_ms"));
  const auto given_up =
      std::count_if(result.log.requests.begin(), result.log.requests.end(),
                    [](const RequestEntry& entry) { return entry.outcome == Outcome::kCancelled; });
  EXPECT_GT(given_up, 0);
  EXPECT_FALSE(server.has_work());
}

// Sends 400 requests, one a second, to a server that can take all of them at once.
RunResult run_without_queue(SimulatedOptions server_options, int64_t output) {
  FakeClock clock;
  server_options.lanes = 400;
  SimulatedServer server(clock, server_options);
  EvenSource source;
  source.count = 400;
  source.output = output;
  RunOptions options = few_rules();
  options.growth = {.window_arrivals = 20, .windows = 3, .least_backlog = 30};
  return run(server, source, every(1, source.count), options, clock);
}

// Each request has its first token at once, and its last one after the last arrival.
TEST(ServingRun, RequestsThatGenerateAreNoQueue) {
  for (const bool tells_late : {false, true}) {
    const RunResult result =
        run_without_queue({.first_s = 0.01, .gap_s = 500, .tells_late = tells_late}, 2);
    EXPECT_EQ(result.stop_reason, "") << tells_late;
    EXPECT_EQ(result.log.requests.size(), 400u);
  }
}

// The server sends no tokens before a request ends, so the request waits until then.
TEST(ServingRun, RequestsWithoutAnyTokenAreAQueue) {
  const RunResult result = run_without_queue({.first_s = 500, .fail_every = 1}, 1);
  EXPECT_NE(result.stop_reason.find("still waited"), std::string::npos);
}

TEST(ServingRun, PatienceWithTheLastAnswersEnds) {
  FakeClock clock;
  SimulatedServer server(clock, {.first_s = 50});
  const EvenSource source;
  RunOptions options = few_rules();
  options.most_drain_s = 120;
  const RunResult result = run(server, source, every(1, 10), options, clock);
  EXPECT_NE(result.stop_reason.find("8 requests had not ended"), std::string::npos)
      << result.stop_reason;
  EXPECT_EQ(result.log.requests.size(), 10u);
}

TEST(ServingRun, ReuseIsAssertedAgainstItsBounds) {
  const EvenSource source;
  const auto message = [&](const SimulatedOptions& server_options, int64_t least, int64_t most) {
    FakeClock clock;
    SimulatedServer server(clock, server_options);
    RunOptions options = few_rules();
    options.reuse = [=](const workloads::ServingRequest&, const RequestEntry&) {
      return ReuseBounds{least, most};
    };
    try {
      (void)run(server, source, every(10, 10), options, clock);
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(message({}, 4, 4), "");
  EXPECT_EQ(message({}, 0, 8), "");
  EXPECT_NE(message({}, 5, 8).find("40 prompt tokens were found in the cache, 50 to 80 were"),
            std::string::npos);
  EXPECT_NE(message({}, 0, 3).find("40 prompt tokens"), std::string::npos);
  EXPECT_NE(message({.reuses = false}, 4, 4).find("0 prompt tokens"), std::string::npos);
  EXPECT_NE(message({.tells_cached = false}, 0, 8).find("does not tell"), std::string::npos);
}

TEST(ServingRun, AnInterruptGivesUpWhatIsUnderWay) {
  FakeClock clock;
  SimulatedServer server(clock, {});
  const EvenSource source;
  const std::atomic<bool> stop = true;
  RunOptions options = few_rules();
  options.stop = &stop;
  EXPECT_THROW((void)run(server, source, every(10, 10), options, clock), Interrupted);
  EXPECT_FALSE(server.has_work());
}

TEST(ServingRun, ARequestThatIsLostIsAnErrorAndNoEndlessWait) {
  FakeClock clock;
  SimulatedServer server(clock, {.lose = 9});
  const EvenSource source;
  EXPECT_THROW((void)run(server, source, every(10, 10), few_rules(), clock), Error);
}

TEST(ServingRun, AServerThatCannotFlushIsRemembered) {
  FakeClock clock;
  SimulatedServer server(clock, {.can_flush = false});
  const EvenSource source;
  EXPECT_FALSE(run(server, source, every(10, 10), few_rules(), clock).was_flushed);
}

// By the law of Pollaczek and Khinchine, Poisson arrivals at rate r with work of 1 s each wait r /
// (2 (1 - r)) on average. At 0.7 and 30,000 requests the mean of a run scatters by some 3 %.
TEST(ServingRun, AQueueOfKnownLawHasItsMeanWait) {
  FakeClock clock;
  SimulatedServer server(clock, {});
  EvenSource source;
  source.count = 30000;
  source.output = 1;
  RunOptions options = few_rules();
  options.growth.windows = 0;
  const auto schedule =
      workloads::make_schedule("poisson", {.rate_rps = 0.7, .seed = 5}, source.count);
  const RunResult result = run(server, source, schedule, options, clock);
  double waited_s = 0;
  for (const RequestEntry& entry : result.log.requests) waited_s += latency_of(entry).ttft_s - 1;
  EXPECT_NEAR(waited_s / 30000 / (0.7 / (2 * 0.3)), 1, 0.1);
}

}  // namespace
}  // namespace reprise::experiments::serving
