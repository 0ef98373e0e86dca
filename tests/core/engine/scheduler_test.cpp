// Tests policies by themselves, and what the engine does with them: order, mixed steps, preemption,
// cancellation.
#include "core/engine/scheduler.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "methods/registry.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/counting_decoder.h"
#include "tests/support/json.h"

namespace reprise::engine {
namespace {

using model::expect_error;
using testing::counting_from;
using testing::CountingDecoder;
using testing::ends_of;
using testing::Tokens;
using testing::tokens_of;

RunningSequence running(RequestId id, int32_t pending, bool is_decoding, int32_t priority = 0) {
  return {.id = id, .priority = priority, .pending = pending, .is_decoding = is_decoding};
}

std::vector<int32_t> shared(Scheduler& scheduler, const std::vector<RunningSequence>& sequences,
                            int32_t step_tokens) {
  std::vector<int32_t> rows(sequences.size(), 0);
  scheduler.share({.running = sequences, .step_tokens = step_tokens}, rows);
  return rows;
}

TEST(FirstComeScheduler, DecodesFirstThenPromptsWithinTheBudget) {
  FirstComeScheduler scheduler;
  using Rows = std::vector<int32_t>;
  const std::vector<RunningSequence> mixed = {running(1, 9, false), running(2, 1, true),
                                              running(3, 9, false), running(4, 1, true)};
  EXPECT_EQ(shared(scheduler, mixed, 12), (Rows{9, 1, 1, 1}));
  EXPECT_EQ(shared(scheduler, mixed, 100), (Rows{9, 1, 9, 1}));
  EXPECT_EQ(shared(scheduler, mixed, 2), (Rows{1, 1, 0, 1})) << "prompts go on, slowly";
  EXPECT_EQ(shared(scheduler, {running(1, 1, false), running(2, 5, false)}, 3), (Rows{1, 2}));
  EXPECT_EQ(shared(scheduler, {running(1, 8, true), running(2, 8, true)}, 10), (Rows{8, 2}))
      << "what computes everything again shares the budget";
}

TEST(PrefillFirstScheduler, StepsArePromptsOrDecodes) {
  PrefillFirstScheduler scheduler;
  using Rows = std::vector<int32_t>;
  EXPECT_EQ(
      shared(scheduler, {running(1, 1, true), running(2, 9, false), running(3, 9, false)}, 12),
      (Rows{0, 9, 3}));
  EXPECT_EQ(shared(scheduler, {running(1, 1, true), running(2, 1, true)}, 1), (Rows{1, 1}));
  EXPECT_EQ(shared(scheduler, {running(1, 1, true), running(2, 1, false)}, 12), (Rows{0, 1}))
      << "the last token of a prompt";
}

TEST(FirstComeScheduler, QueuesByPriorityArrivalAndSubmission) {
  const FirstComeScheduler scheduler;
  const WaitingRequest first{.id = 1, .arrival_ns = 5, .submission = 0},
      second{.id = 2, .arrival_ns = 5, .submission = 1},
      earlier{.id = 3, .arrival_ns = 4, .submission = 2},
      urgent{.id = 4, .arrival_ns = 9, .submission = 3, .priority = 1};
  EXPECT_TRUE(scheduler.comes_before(first, second));
  EXPECT_FALSE(scheduler.comes_before(second, first));
  EXPECT_FALSE(scheduler.comes_before(first, first));
  EXPECT_TRUE(scheduler.comes_before(earlier, first));
  EXPECT_TRUE(scheduler.comes_before(urgent, earlier));
}

TEST(FirstComeScheduler, TheLatestOfTheLowestPriorityGivesWay) {
  FirstComeScheduler scheduler;
  const auto victim = [&](const std::vector<RunningSequence>& sequences) {
    return scheduler.victim({.running = sequences});
  };
  EXPECT_EQ(victim({running(1, 1, true), running(2, 1, true), running(3, 1, true)}), 2u);
  EXPECT_EQ(victim({running(1, 1, true, 0), running(2, 1, true, -1), running(3, 1, true, 2)}), 1u);
}

TEST(Schedulers, AreMadeByName) {
  for (const std::string& name : known_schedulers()) EXPECT_NE(make_scheduler(name), nullptr);
  expect_error([] { (void)make_scheduler("first_com"); }, {"did you mean \"first_come\"?"});
}

class Scheduled : public ::testing::Test {
 protected:
  // An engine with just `num_blocks` blocks of 16 tokens.
  Engine make(int32_t num_blocks, EngineOptions options = {}) {
    options.limits.max_batch = 4;
    options.limits.max_sequence_tokens = 200;
    options.num_blocks = num_blocks;
    options.clock_ns = [this] { return now_; };
    return {context_, decoder_, methods::make_cache("paged", {{"block_tokens", 16}}), options};
  }
  Context context_{.threads = 1, .isa = best_isa()};
  CountingDecoder decoder_;
  int64_t now_ = 0;
};

TEST_F(Scheduled, SequencesDecodeWhileAPromptIsComputed) {
  Engine engine = make(0, {.step_tokens = 8});
  engine.submit({.id = 1, .prompt = {1}, .max_new_tokens = 20});
  (void)engine.step();
  engine.submit({.id = 2, .prompt = counting_from(3, 30), .max_new_tokens = 3});
  int mixed = 0;
  std::vector<TokenEvent> events;
  while (engine.has_work()) {
    const StepReport report = engine.step();
    EXPECT_LE(report.prefill_tokens + report.decode_tokens, 8);
    mixed += report.prefill_tokens > 0 && report.decode_tokens > 0 ? 1 : 0;
    events.insert(events.end(), report.events.begin(), report.events.end());
  }
  EXPECT_EQ(mixed, 5) << "30 tokens, 7 at once";
  EXPECT_EQ(ends_of(events).at(2).finish, FinishReason::kLength);
}

// The last prefill step has only one token. Without a cached prompt, it is the rest of three
// prompts of 11 tokens in steps of 8. With one, it is the last of a prompt's 33 tokens; the cache
// holds the other 32.
TEST_F(Scheduled, PrefillFirstNeverMixesAPromptsLastTokenWithDecoding) {
  for (const bool is_cached : {false, true}) {
    Engine engine(context_, decoder_,
                  methods::make_cache(
                      "chunk_attention",
                      {{"chunk_tokens", 16}, {"reuse_prefill", is_cached}, {"retain", is_cached}}),
                  {.limits = {.max_batch = 4, .max_sequence_tokens = 200},
                   .step_tokens = 8,
                   .scheduler = make_scheduler("prefill_first")});
    const auto submit = [&](RequestId id) {
      engine.submit(
          {.id = id,
           .prompt = counting_from(is_cached ? 1 : static_cast<int32_t>(id), is_cached ? 33 : 11),
           .max_new_tokens = 4});
    };
    submit(1);
    if (is_cached) (void)engine.run();
    for (RequestId id : {2, 3}) submit(id);
    int32_t prefill_tokens = 0;
    while (engine.has_work()) {
      const StepReport report = engine.step();
      EXPECT_FALSE(report.prefill_tokens > 0 && report.decode_tokens > 0)
          << report.prefill_tokens << " and " << report.decode_tokens;
      prefill_tokens += report.prefill_tokens;
      if (is_cached && prefill_tokens == 2) submit(4);  // joins sequences that decode
    }
    EXPECT_EQ(prefill_tokens, is_cached ? 3 : 33);
  }
}

TEST_F(Scheduled, PreemptedSequencesGoOnWhereTheyWere) {
  Tokens want;
  for (RequestId id : {1, 2, 3, 4}) want[id] = counting_from(static_cast<int32_t>(id) + 20, 60);
  // Each sequence needs 5 blocks at its end.
  for (int32_t blocks : {5, 6, 8, 11, 19}) {
    Engine engine = make(blocks);
    for (RequestId id : {1, 2, 3, 4})
      engine.submit(
          {.id = id, .prompt = counting_from(static_cast<int32_t>(id), 20), .max_new_tokens = 60});
    int32_t preempted = 0;
    std::vector<TokenEvent> events;
    std::vector<RequestId> order;
    while (engine.has_work()) {
      const StepReport report = engine.step();
      preempted += report.preempted;
      for (const TokenEvent& event : report.events) {
        events.push_back(event);
        if (event.finish != FinishReason::kNone) order.push_back(event.request);
      }
    }
    EXPECT_EQ(tokens_of(events), want) << blocks << " blocks";
    EXPECT_GT(preempted, blocks > 5 ? 0 : -1) << blocks << " blocks";
    EXPECT_EQ(order, (std::vector<RequestId>{1, 2, 3, 4})) << "the oldest always goes on";
    EXPECT_EQ(engine.pool().used_blocks(), 0);
    EXPECT_LE(engine.pool().peak_used_blocks(), blocks);
  }
}

// Request 3 joined last, so it is preempted. It joins again when request 1 has ended.
TEST_F(Scheduled, EachTokenTellsHowOftenItsRequestWasPreemptedBefore) {
  Engine engine = make(8);
  for (RequestId id : {1, 2, 3})
    engine.submit({.id = id,
                   .prompt = counting_from(static_cast<int32_t>(id), 20),
                   .max_new_tokens = id == 1 ? 20 : 100});
  int32_t preempted = 0;
  while (engine.has_work()) {
    const StepReport report = engine.step();
    preempted += report.preempted;
    for (const TokenEvent& event : report.events)
      EXPECT_EQ(event.preemptions, event.request == 3 ? preempted : 0) << event.request;
  }
  EXPECT_GE(preempted, 2);
}

TEST_F(Scheduled, WhoDoesNotFitAloneEndsWithTheReasonAndTheOthersAreServed) {
  Engine engine = make(3);
  engine.submit({.id = 1, .prompt = counting_from(1, 20), .max_new_tokens = 100});
  engine.submit({.id = 2, .prompt = counting_from(1, 60), .max_new_tokens = 1});
  engine.submit({.id = 3, .prompt = counting_from(1, 5), .max_new_tokens = 30});
  const std::vector<TokenEvent> events = engine.run();
  auto ends = ends_of(events);
  EXPECT_EQ(ends[1].finish, FinishReason::kRefused);
  // 3 blocks hold 48 tokens, of which 28 are generated; the 29th is drawn from the last one's
  // logits.
  EXPECT_EQ(ends[1].index, 29);
  for (const char* part : {"request 1", "29 of 100", "holds 3 blocks", "0 of 3 blocks of 16"})
    EXPECT_NE(ends[1].reason.find(part), std::string::npos) << ends[1].reason;
  EXPECT_EQ(ends[2].finish, FinishReason::kRefused);
  for (const char* part : {"request 2", "60 tokens", "3 of 3 blocks of 16"})
    EXPECT_NE(ends[2].reason.find(part), std::string::npos) << ends[2].reason;
  EXPECT_EQ(ends[3].finish, FinishReason::kLength);
  EXPECT_EQ(tokens_of(events).at(1).size(), 29u);
  EXPECT_EQ(engine.pool().used_blocks(), 0);
}

// A block of 16 tokens takes 256 bytes: one layer, one head of dimension 2, f32.
TEST_F(Scheduled, ABudgetOfBytesBecomesBlocks) {
  const auto blocks = [&](EngineOptions options) {
    return make(options.num_blocks, options).pool().options().num_blocks;
  };
  EXPECT_EQ(blocks({}), 4 * 13) << "what four sequences of 200 tokens need";
  EXPECT_EQ(blocks({.kv_budget_bytes = 256 * 20}), 20);
  EXPECT_EQ(blocks({.kv_budget_bytes = 256 * 21 - 1}), 20);
  EXPECT_EQ(blocks({.kv_budget_bytes = 256 * 500}), 500);
  EXPECT_EQ(blocks({.num_blocks = 30, .kv_budget_bytes = 256 * 20}), 20);
  EXPECT_EQ(blocks({.num_blocks = 17, .kv_budget_bytes = 256 * 20}), 17);
  EXPECT_EQ(blocks({.kv_dtype = DType::kBF16, .kv_budget_bytes = 256 * 20}), 40);
  EXPECT_EQ(blocks({.kv_budget_bytes = 256 * 13}), 13);
  expect_error([&] { blocks({.kv_budget_bytes = 256 * 13 - 1}); },
               {"kv_budget_bytes is 3327", "12 blocks of 16 tokens", "max_sequence_tokens = 200",
                "13 blocks, 3328 bytes"});
  expect_error([&] { blocks({.kv_budget_bytes = -1}); }, {"kv_budget_bytes is -1"});
}

TEST_F(Scheduled, WithoutABudgetAPoolThatCannotBeCountedIsRefused) {
  const EngineOptions options{.limits = {.max_batch = 4096, .max_sequence_tokens = 1 << 24}};
  expect_error(
      [&] {
        Engine(context_, decoder_, methods::make_cache("paged", {{"block_tokens", 16}}), options);
      },
      {"max_batch = 4096", "4294967296 blocks of 16 tokens", "kv_budget_bytes"});
}

TEST_F(Scheduled, ABudgetHoldsTheDeclaredPrefixesToo) {
  EngineOptions options{.limits = {.max_batch = 4, .max_sequence_tokens = 200, .prefix_tokens = 64},
                        .kv_budget_bytes = 256 * 16};
  const auto make = [&] {
    Engine engine(context_, decoder_,
                  methods::make_cache("relay_attention", {{"block_tokens", 16}}), options);
    return engine.pool().options().num_blocks;
  };
  expect_error([&] { make(); }, {"with 64 tokens of declared prefixes", "17 blocks"});
  options.kv_budget_bytes = 256 * 17;
  EXPECT_EQ(make(), 17);
}

TEST_F(Scheduled, AdmissionTakesBlocksForWhatIsThereNotForWhatMayCome) {
  Engine engine = make(8);
  for (RequestId id : {1, 2, 3})
    engine.submit({.id = id, .prompt = counting_from(1, 16), .max_new_tokens = 100});
  (void)engine.step();
  EXPECT_EQ(engine.pool().used_blocks(), 3);
  for (RequestId id : {1, 2, 3}) EXPECT_TRUE(engine.cancel(id));
}

TEST_F(Scheduled, UrgentRequestsAreServedFirst) {
  Engine engine = make(0);
  std::vector<RequestId> order;
  for (RequestId id = 1; id <= 8; ++id)
    engine.submit({.id = id, .prompt = {1}, .max_new_tokens = 2, .priority = id % 2 == 0 ? 5 : 0});
  for (const TokenEvent& event : engine.run())
    if (event.finish != FinishReason::kNone) order.push_back(event.request);
  EXPECT_EQ(order, (std::vector<RequestId>{2, 4, 6, 8, 1, 3, 5, 7}));
}

TEST_F(Scheduled, CancelledRequestsGiveBackTheirBlocksAtOnceAndAreTold) {
  Engine engine = make(0);
  for (RequestId id = 1; id <= 6; ++id)
    engine.submit({.id = id, .prompt = counting_from(1, 30), .max_new_tokens = 9});
  (void)engine.step();
  EXPECT_EQ(engine.pool().used_blocks(), 4 * 2);
  EXPECT_TRUE(engine.cancel(2)) << "it runs";
  EXPECT_TRUE(engine.cancel(6)) << "it waits";
  EXPECT_FALSE(engine.cancel(6)) << "it is gone";
  EXPECT_FALSE(engine.cancel(77));
  EXPECT_EQ(engine.pool().used_blocks(), 3 * 2);
  const std::vector<TokenEvent> events = engine.run();
  auto ends = ends_of(events);
  EXPECT_EQ(ends.size(), 6u);
  for (RequestId id = 1; id <= 6; ++id)
    EXPECT_EQ(ends[id].finish,
              id == 2 || id == 6 ? FinishReason::kCancelled : FinishReason::kLength);
  EXPECT_EQ(ends[2].index, 1) << "one token was made";
  EXPECT_FALSE(ends[2].has_token());
  EXPECT_NE(ends[2].times.admitted, kNotYet);
  EXPECT_EQ(ends[6].times.admitted, kNotYet);
  EXPECT_EQ(engine.pool().used_blocks(), 0);
}

// An observer may cancel a request. The step that calls the observer still ends as usual.
TEST_F(Scheduled, CancellingFromAnObserverTakesEffectBehindTheStep) {
  Engine engine = make(0);
  engine.observe_logits([&](const LogitsRow& row) {
    if (row.index == 3) {
      EXPECT_TRUE(engine.cancel(row.request));
    }
  });
  engine.submit({.id = 1, .prompt = {1, 2}, .max_new_tokens = 9, .logits = LogitsMode::kDrawn});
  const std::vector<TokenEvent> events = engine.run();
  EXPECT_EQ(tokens_of(events).at(1).size(), 4u);
  EXPECT_EQ(ends_of(events).at(1).finish, FinishReason::kCancelled);
  EXPECT_EQ(engine.pool().used_blocks(), 0);
}

// The observer cancels the request in a step that fails, so the cancellation is still pending.
// Cancelling again takes effect at once, and a later request with the same id must not be ended by
// the first cancellation.
TEST_F(Scheduled, ACancellationOfAFailedStepDoesNotEndALaterRequest) {
  Engine engine = make(0);
  engine.observe_logits([&](const LogitsRow& row) {
    (void)engine.cancel(row.request);
    raise("seen enough");
  });
  engine.submit({.id = 1, .prompt = {1, 2}, .max_new_tokens = 9, .logits = LogitsMode::kDrawn});
  expect_error([&] { (void)engine.step(); }, {"seen enough"});
  engine.observe_logits({});
  EXPECT_TRUE(engine.cancel(1));
  engine.submit({.id = 1, .prompt = {5}, .max_new_tokens = 2});
  EXPECT_EQ(tokens_of(engine.run()), (Tokens{{1, {6, 7}}}));
  EXPECT_EQ(engine.pool().used_blocks(), 0);
}

// The end of a request that was cancelled or refused between two steps.
TEST_F(Scheduled, AnEndComesBeforeTheTokensOfALaterRequestWithItsId) {
  Engine engine = make(8);
  const auto reports_end_first = [&](FinishReason finish) {
    engine.submit({.id = 1, .prompt = {5}, .max_new_tokens = 2});
    const std::vector<TokenEvent> events = engine.run();
    ASSERT_EQ(events.size(), 3u);
    EXPECT_EQ(events.front().finish, finish);
    EXPECT_EQ(events.back().finish, FinishReason::kLength);
    EXPECT_EQ(tokens_of({events.begin() + 1, events.end()}), (Tokens{{1, {6, 7}}}));
  };
  engine.submit({.id = 1, .prompt = {1, 2}, .max_new_tokens = 9});
  (void)engine.step();
  EXPECT_TRUE(engine.cancel(1));
  reports_end_first(FinishReason::kCancelled);
  engine.submit({.id = 1, .prompt = {}, .max_new_tokens = 9});
  reports_end_first(FinishReason::kRefused);
}

// A policy that is not built in: the shortest prompt first, one sequence at a time.
class ShortestFirst final : public FirstComeScheduler {
 public:
  [[nodiscard]] bool comes_before(const WaitingRequest& a, const WaitingRequest& b) const override {
    return a.tokens < b.tokens;
  }
  [[nodiscard]] bool admits(const WaitingRequest&, const StepView& view) override {
    return view.running.empty();
  }
};

TEST_F(Scheduled, APolicyOfOnesOwnDecides) {
  Engine engine = make(0, {.scheduler = std::make_shared<ShortestFirst>()});
  for (const auto& [id, length] : {std::pair{1, 9}, {2, 3}, {3, 9}, {4, 1}})
    engine.submit({.id = id, .prompt = counting_from(1, length), .max_new_tokens = 2});
  std::vector<RequestId> order;
  for (const TokenEvent& event : engine.run())
    if (event.finish != FinishReason::kNone) order.push_back(event.request);
  EXPECT_EQ(order, (std::vector<RequestId>{4, 2, 1, 3}));
  EXPECT_EQ(engine.pool().peak_used_blocks(), 1);
}

}  // namespace
}  // namespace reprise::engine
