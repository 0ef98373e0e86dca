#include "core/engine/engine.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "core/base/error.h"
#include "core/engine/sampling.h"
#include "core/reuse/block_per_sequence.h"
#include "methods/registry.h"
#include "tests/support/counting_decoder.h"
#include "tests/support/tiny_models.h"

namespace reprise::engine {
namespace {

using model::expect_error;
using testing::counting_from;
using testing::CountingDecoder;
using testing::ends_of;
using testing::Tokens;
using testing::tokens_of;

// A plain cache that counts the calls it gets. It may have fewer blocks than the batch has places.
class TestMethod final : public reuse::BlockPerSequence {
 public:
  struct Log {
    int admitted = 0, refused = 0, retired = 0;
    std::vector<RequestId> order;
  };
  TestMethod(Log* log, int32_t blocks, std::set<RequestId> never = {})
      : log_(log), blocks_(blocks), never_(std::move(never)) {}

  [[nodiscard]] reuse::PoolNeed pool_need(const reuse::EngineLimits& limits) const override {
    return {.block_tokens = limits.max_sequence_tokens, .num_blocks = blocks_};
  }
  reuse::Admission admit(const reuse::NewSequence& sequence, kv::BlockPool& pool) override {
    if (never_.contains(sequence.id)) {
      ++log_->refused;
      return {};
    }
    const reuse::Admission admission = reuse::BlockPerSequence::admit(sequence, pool);
    ++(admission.admitted ? log_->admitted : log_->refused);
    if (admission.admitted) log_->order.push_back(sequence.id);
    return admission;
  }
  void retire(RequestId id, kv::BlockPool& pool) override {
    ++log_->retired;
    reuse::BlockPerSequence::retire(id, pool);
  }
  [[nodiscard]] int32_t cached_tokens(RequestId, int32_t tokens) const override { return tokens; }

 private:
  Log* log_;
  int32_t blocks_;
  std::set<RequestId> never_;
};

std::unique_ptr<reuse::SequenceCache> contiguous() { return methods::make_cache("contiguous", {}); }

class EngineTest : public ::testing::Test {
 protected:
  Context context_{.threads = 1, .isa = best_isa()};
  CountingDecoder decoder_;
  TestMethod::Log log_;

  Engine make(EngineOptions options, int32_t blocks = -1, std::set<RequestId> never = {}) {
    return {context_, decoder_,
            std::make_unique<TestMethod>(&log_, blocks < 0 ? options.limits.max_batch : blocks,
                                         std::move(never)),
            options};
  }
};

TEST_F(EngineTest, GeneratesUpToTheNumberAsked) {
  Engine engine = make({.limits = {.max_batch = 1, .max_sequence_tokens = 20}});
  for (int32_t count : {1, 2, 7}) {
    engine.submit({.id = count, .prompt = {4, 9, 2}, .max_new_tokens = count});
    const std::vector<TokenEvent> events = engine.run();
    EXPECT_EQ(tokens_of(events).at(count), counting_from(3, count));
    for (const TokenEvent& event : events)
      EXPECT_EQ(event.finish,
                event.index + 1 == count ? FinishReason::kLength : FinishReason::kNone);
  }
  EXPECT_EQ(engine.pool().used_blocks(), 0);
}

TEST_F(EngineTest, EndsAfterAStopTokenWhichIsReported) {
  Engine engine = make({.limits = {.max_batch = 2, .max_sequence_tokens = 20}});
  engine.submit({.id = 1, .prompt = {2}, .max_new_tokens = 9, .stop_ids = {30, 5}});
  // Request 2 stops at the last token that it may generate.
  engine.submit({.id = 2, .prompt = {2}, .max_new_tokens = 3, .stop_ids = {5}});
  std::map<RequestId, FinishReason> reasons;
  const std::vector<TokenEvent> events = engine.run();
  for (const TokenEvent& event : events) reasons[event.request] = event.finish;
  EXPECT_EQ(tokens_of(events), (Tokens{{1, {3, 4, 5}}, {2, {3, 4, 5}}}));
  EXPECT_EQ(reasons[1], FinishReason::kStop);
  EXPECT_EQ(reasons[2], FinishReason::kStop);
}

TEST_F(EngineTest, NoMoreRunAtOnceThanTheBatchHolds) {
  Engine engine = make({.limits = {.max_batch = 2, .max_sequence_tokens = 20}});
  for (RequestId id = 0; id < 5; ++id)
    engine.submit({.id = id,
                   .prompt = counting_from(static_cast<int32_t>(id), 3),
                   .max_new_tokens = 2 + static_cast<int32_t>(id)});
  const Tokens tokens = tokens_of(engine.run());
  for (int32_t id = 0; id < 5; ++id) EXPECT_EQ(tokens.at(id), counting_from(id + 3, 2 + id));
  EXPECT_EQ(engine.pool().peak_used_blocks(), 2);
  EXPECT_EQ(engine.pool().used_blocks(), 0);
  EXPECT_EQ(log_.order, (std::vector<RequestId>{0, 1, 2, 3, 4}));
  EXPECT_EQ(log_.retired, 5);
}

TEST_F(EngineTest, WaitsInOrderWhenThePoolIsFull) {
  Engine engine = make({.limits = {.max_batch = 4, .max_sequence_tokens = 20}}, /*blocks=*/1);
  for (RequestId id : {7, 3, 5}) engine.submit({.id = id, .prompt = {1}, .max_new_tokens = 3});
  const Tokens tokens = tokens_of(engine.run());
  EXPECT_EQ(tokens.size(), 3u);
  EXPECT_EQ(log_.order, (std::vector<RequestId>{7, 3, 5}));
  EXPECT_GT(log_.refused, 0);
  EXPECT_EQ(engine.pool().peak_used_blocks(), 1);
  EXPECT_EQ(engine.pool().used_blocks(), 0);
}

TEST_F(EngineTest, RequestThatNeverFitsIsRefusedOnceAndTheOthersGoOn) {
  Engine engine = make({.limits = {.max_batch = 2, .max_sequence_tokens = 20}}, 2, /*never=*/{8});
  engine.submit({.id = 8, .prompt = {1, 2}, .max_new_tokens = 3});
  engine.submit({.id = 9, .prompt = {1}, .max_new_tokens = 3});
  const std::vector<TokenEvent> events = engine.run();
  const TokenEvent refused = ends_of(events).at(8);
  EXPECT_EQ(refused.finish, FinishReason::kRefused);
  for (const char* part : {"request 8", "does not fit", "2 of 2 blocks of 20 tokens"})
    EXPECT_NE(refused.reason.find(part), std::string::npos) << refused.reason;
  EXPECT_EQ(log_.refused, 1);
  EXPECT_EQ(tokens_of(events), (Tokens{{9, {2, 3, 4}}}));
  EXPECT_FALSE(engine.has_work());
}

TEST_F(EngineTest, PromptsAreComputedInChunksSharedByTheSequences) {
  for (int32_t chunk : {1, 3, 7, 100}) {
    decoder_.rows.clear();
    Engine engine =
        make({.limits = {.max_batch = 3, .max_sequence_tokens = 30}, .step_tokens = chunk});
    for (const auto& [id, length] : {std::pair{1, 5}, {2, 1}, {3, 11}})
      engine.submit({.id = id, .prompt = counting_from(10 * id, length), .max_new_tokens = 4});
    int32_t prefill = 0, decode = 0;
    std::vector<TokenEvent> events;
    while (engine.has_work()) {
      const StepReport report = engine.step();
      EXPECT_LE(report.prefill_tokens, chunk);
      EXPECT_EQ(report.prefill_tokens + report.decode_tokens, decoder_.rows.back());
      prefill += report.prefill_tokens;
      decode += report.decode_tokens;
      events.insert(events.end(), report.events.begin(), report.events.end());
    }
    EXPECT_EQ(prefill, 5 + 1 + 11) << "chunk " << chunk;
    EXPECT_EQ(decode, 3 * 3) << "the first token of each comes from its prompt";
    EXPECT_EQ(
        tokens_of(events),
        (Tokens{{1, counting_from(15, 4)}, {2, counting_from(21, 4)}, {3, counting_from(41, 4)}}));
  }
}

TEST_F(EngineTest, TimesComeFromTheClockItIsGiven) {
  int64_t now = 0;
  Engine engine = make({.limits = {.max_batch = 2, .max_sequence_tokens = 20},
                        .clock_ns = [&] { return now += 1000; }});
  engine.submit({.id = 1, .prompt = {1, 2, 3}, .max_new_tokens = 3, .arrival_ns = -500});
  int64_t last_end = now;
  RequestTimes want = {.intended = -500, .submitted = 1000, .admitted = 2000, .first_token = 3000};
  int32_t index = 0;
  while (engine.has_work()) {
    const StepReport report = engine.step();
    EXPECT_EQ(report.start_ns, last_end + 1000);
    EXPECT_EQ(report.end_ns, report.start_ns + 1000);
    ASSERT_EQ(report.events.size(), 1u);
    EXPECT_EQ(report.events[0].time_ns, report.end_ns);
    EXPECT_EQ(report.events[0].index, index++);
    last_end = report.end_ns;
    if (engine.has_work()) continue;
    const RequestTimes times = report.events[0].times;
    EXPECT_EQ(times.intended, want.intended);
    EXPECT_EQ(times.submitted, want.submitted);
    EXPECT_EQ(times.admitted, want.admitted);
    EXPECT_EQ(times.first_token, want.first_token);
    EXPECT_EQ(times.done, report.end_ns);
  }
  EXPECT_EQ(index, 3);
}

TEST_F(EngineTest, StepWithoutWorkDoesNothing) {
  Engine engine = make({.limits = {.max_batch = 1, .max_sequence_tokens = 4}});
  EXPECT_FALSE(engine.has_work());
  EXPECT_TRUE(engine.step().events.empty());
  EXPECT_TRUE(engine.run().empty());
  EXPECT_EQ(decoder_.steps, 0);
}

TEST_F(EngineTest, BadRequestsAreRefusedByAnEventThatNamesWhatIsWrong) {
  Engine engine = make({.limits = {.max_batch = 1, .max_sequence_tokens = 10}});
  const auto refused = [&](const Request& request, std::initializer_list<std::string> parts) {
    engine.submit(request);
    EXPECT_TRUE(engine.has_work());
    const std::vector<TokenEvent> events = engine.run();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].request, 42);
    EXPECT_FALSE(events[0].has_token());
    EXPECT_EQ(events[0].finish, FinishReason::kRefused);
    EXPECT_GE(events[0].times.done, events[0].times.submitted);
    for (const std::string& part : parts)
      EXPECT_NE(events[0].reason.find(part), std::string::npos) << events[0].reason;
    expect_error([&] { require_served(events); }, parts);
  };
  refused({.id = 42, .prompt = {}}, {"request 42", "empty prompt"});
  refused({.id = 42, .prompt = {1}, .max_new_tokens = -5}, {"request 42", "-5"});
  refused({.id = 42, .prompt = {1, 2, 3}, .max_new_tokens = 8}, {"request 42", "3", "8", "10"});
  refused({.id = 42, .prompt = {1}, .max_new_tokens = 2147483647}, {"request 42", "2147483647"});
  refused({.id = 42, .prompt = {1, 32}, .max_new_tokens = 1}, {"request 42", "32", "counting"});
  refused({.id = 42, .prompt = {-1}, .max_new_tokens = 1}, {"request 42", "-1", "vocabulary"});
  refused({.id = 42, .prompt = {1, 2, 1 << 24}, .max_new_tokens = 1}, {"entry 3", "16777216"});
  refused({.id = 42, .prompt = {1, 2}, .positions = {0}, .max_new_tokens = 1},
          {"request 42", "2 tokens", "1 positions"});
  refused({.id = 42, .prompt = {1}, .positions = {-1}, .max_new_tokens = 1},
          {"request 42", "position -1"});
  refused({.id = 42, .prompt = {1}, .positions = {1 << 24}, .max_new_tokens = 1},
          {"request 42", "position 16777216"});
  refused({.id = 42, .prompt = {1}, .max_new_tokens = 1, .sampling = {.top_p = 2.0}}, {"top_p"});
  EXPECT_FALSE(engine.has_work());
  EXPECT_EQ(decoder_.steps, 0);
  expect_error([&] { engine.submit({.id = -1, .prompt = {1}}); }, {"request id -1", "below 0"});
  engine.submit({.id = 42, .prompt = {1}, .max_new_tokens = 9});
  EXPECT_EQ(engine.run().size(), 9u);
}

TEST_F(EngineTest, RequestIdInUseIsRefusedAndMayBeUsedAgainLater) {
  Engine engine = make({.limits = {.max_batch = 1, .max_sequence_tokens = 10}});
  engine.submit({.id = 1, .prompt = {1}, .max_new_tokens = 2});
  engine.submit({.id = 2, .prompt = {1}, .max_new_tokens = 2});
  (void)engine.step();  // 1 runs, 2 waits
  for (RequestId id : {1, 2})
    expect_error([&] { engine.submit({.id = id, .prompt = {1}, .max_new_tokens = 2}); },
                 {"request id " + std::to_string(id), "in use"});
  const std::vector<TokenEvent> events = engine.run();
  ASSERT_EQ(events.size(), 3u);  // the second token of 1 and both of 2
  EXPECT_EQ(events.back().request, 2);
  engine.submit({.id = 1, .prompt = {5}, .max_new_tokens = 1});
  EXPECT_EQ(tokens_of(engine.run()).at(1), std::vector<int32_t>{6});
}

TEST_F(EngineTest, BadOptionsAreNamed) {
  const auto refused = [&](const EngineOptions& options, const std::string& part) {
    expect_error([&] { make(options); }, {part});
  };
  refused({.limits = {.max_batch = 0, .max_sequence_tokens = 4}}, "max_batch");
  refused({.limits = {.max_batch = 1, .max_sequence_tokens = 0}}, "max_sequence_tokens");
  refused({.limits = {.max_batch = 1, .max_sequence_tokens = 4}, .step_tokens = 0}, "step_tokens");
  refused({.limits = {.max_batch = 1 << 30, .max_sequence_tokens = 1 << 30}}, "KV cache needs");
}

// A step that fails counts as not happened: the next step generates its tokens.
TEST_F(EngineTest, StepWhoseDecoderFailsMayBeTriedAgain) {
  for (int failing : {1, 2, 3, 4}) {
    decoder_.steps = 0;
    decoder_.failing_step = failing;
    Engine engine = make({.limits = {.max_batch = 3, .max_sequence_tokens = 30}, .step_tokens = 4});
    for (RequestId id : {1, 2, 3})
      engine.submit({.id = id, .prompt = counting_from(3, 3), .max_new_tokens = 3});
    std::vector<TokenEvent> events;
    int errors = 0;
    while (engine.has_work()) try {
        const StepReport report = engine.step();
        events.insert(events.end(), report.events.begin(), report.events.end());
      } catch (const Error&) {
        ++errors;
      }
    EXPECT_EQ(errors, 1);
    for (RequestId id : {1, 2, 3}) EXPECT_EQ(tokens_of(events).at(id), counting_from(6, 3));
    EXPECT_EQ(engine.pool().used_blocks(), 0);
  }
}

// The NaN is in the last row of the batch: the sequences of the rows before it must not have
// advanced.
TEST_F(EngineTest, StepWhoseLogitsAreNanChangesNothing) {
  for (int failing : {1, 2, 3}) {
    decoder_.steps = 0;
    decoder_.nan_step = failing;
    Engine engine = make({.limits = {.max_batch = 3, .max_sequence_tokens = 30}});
    for (RequestId id : {1, 2, 3})  // the first two finish in the step that fails
      engine.submit({.id = id,
                     .prompt = counting_from(3, 3),
                     .max_new_tokens = id < 3 ? static_cast<int32_t>(failing) : 4});
    std::vector<TokenEvent> events;
    int errors = 0;
    while (engine.has_work()) try {
        const StepReport report = engine.step();
        events.insert(events.end(), report.events.begin(), report.events.end());
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("NaN"), std::string::npos);
        ++errors;
      }
    EXPECT_EQ(errors, 1);
    const Tokens tokens = tokens_of(events);
    EXPECT_EQ(tokens.at(1), counting_from(6, failing));
    EXPECT_EQ(tokens.at(2), counting_from(6, failing));
    EXPECT_EQ(tokens.at(3), counting_from(6, 4));
    EXPECT_EQ(engine.pool().used_blocks(), 0);
  }
}

// Each request grows to all 4 blocks, so the younger one is preempted. In one of the runs, this
// happens in the step that fails.
TEST_F(EngineTest, PreemptionsOfAStepThatFailsAreReportedByTheNext) {
  for (int failing = 1; failing <= 30; ++failing) {
    decoder_.steps = 0;
    decoder_.failing_step = failing;
    Engine engine(context_, decoder_, methods::make_cache("paged", {{"block_tokens", 8}}),
                  {.limits = {.max_batch = 2, .max_sequence_tokens = 32}, .num_blocks = 4});
    for (RequestId id : {1, 2})
      engine.submit({.id = id, .prompt = counting_from(3, 8), .max_new_tokens = 24});
    std::vector<TokenEvent> events;
    int32_t reported = 0;
    while (engine.has_work()) try {
        const StepReport report = engine.step();
        events.insert(events.end(), report.events.begin(), report.events.end());
        reported += report.preempted;
      } catch (const Error&) {
      }
    int32_t told = 0;
    for (const auto& [id, end] : ends_of(events)) told += end.preemptions;
    EXPECT_GT(told, 0);
    EXPECT_EQ(reported, told) << "step " << failing << " failed";
  }
}

TEST_F(EngineTest, ObserverThatThrowsFailsTheStepWhichMayBeTriedAgain) {
  Engine engine = make({.limits = {.max_batch = 2, .max_sequence_tokens = 20}});
  for (RequestId id : {1, 2})
    engine.submit({.id = id, .prompt = {4}, .max_new_tokens = 2, .logits = LogitsMode::kDrawn});
  engine.observe_logits([](const LogitsRow& row) {
    if (row.request == 2) raise("seen enough");
  });
  expect_error([&] { engine.step(); }, {"seen enough"});
  engine.observe_logits({});
  EXPECT_EQ(tokens_of(engine.run()), (Tokens{{1, {5, 6}}, {2, {5, 6}}}));
  EXPECT_EQ(engine.pool().used_blocks(), 0);
}

TEST_F(EngineTest, EveryAdmittedRequestIsRetiredEvenWhenTheEngineEndsEarly) {
  {
    Engine engine = make({.limits = {.max_batch = 2, .max_sequence_tokens = 20}});
    for (RequestId id : {1, 2, 3}) engine.submit({.id = id, .prompt = {1}, .max_new_tokens = 9});
    engine.step();
    EXPECT_EQ(engine.pool().used_blocks(), 2);
  }
  EXPECT_EQ(log_.admitted, 2);
  EXPECT_EQ(log_.retired, 2);
}

// ---- with a real decoder ----

std::vector<Request> mixed_requests() {
  std::vector<Request> requests;
  for (const auto& [id, length, count] :
       {std::tuple{1, 1, 7}, {2, 17, 3}, {3, 5, 12}, {4, 2, 1}, {5, 30, 6}, {6, 9, 9}}) {
    Request request{.id = id, .prompt = {}, .max_new_tokens = count};
    for (int32_t i = 0; i < length; ++i) request.prompt.push_back((i * 13 + id * 29) % 97);
    requests.push_back(request);
  }
  requests[1].sampling = {.temperature = 0.8, .top_p = 0.9, .seed = 5};
  requests[4].sampling = {.temperature = 1.2, .top_k = 20, .seed = 6};
  // Positions with gaps, and a last token that is not at the largest position.
  requests[5].positions = {0, 1, 2, 20, 21, 40, 41, 30, 31};
  return requests;
}

Tokens run_together(model::Decoder& decoder, const std::vector<Request>& requests,
                    int32_t max_batch, int32_t chunk, const char* method, const Context& context) {
  Engine engine(
      context, decoder, methods::make_cache(method, {}),
      {.limits = {.max_batch = max_batch, .max_sequence_tokens = 40}, .step_tokens = chunk});
  for (const Request& request : requests) engine.submit(request);
  Tokens tokens = tokens_of(engine.run());
  EXPECT_EQ(engine.pool().used_blocks(), 0);
  return tokens;
}

class EngineFamily : public ::testing::TestWithParam<const char*> {};

TEST_P(EngineFamily, RequestsTogetherGiveTheTokensOfEachAlone) {
  const Context context = Context::machine();
  auto decoder = testing::random_decoder(testing::scaled_down(GetParam()), context);
  const std::vector<Request> requests = mixed_requests();
  Tokens alone;
  for (const Request& request : requests)
    alone.merge(run_together(*decoder, {request}, 1, 512, "contiguous", context));
  ASSERT_EQ(alone.size(), requests.size());
  for (const char* method : {"contiguous", "recompute"})
    for (const auto& [max_batch, chunk] : {std::pair{6, 512}, {6, 7}, {2, 16}, {3, 1}})
      EXPECT_EQ(run_together(*decoder, requests, max_batch, chunk, method, context), alone)
          << method << " batch " << max_batch << " chunk " << chunk;
}

INSTANTIATE_TEST_SUITE_P(Families, EngineFamily,
                         ::testing::Values("tinyllama-1.1b", "mistral-7b", "falcon-7b",
                                           "falcon-rw-1b", "mpt-7b", "phi-2"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

// Prompts of several chunks, sequences that end at different steps, and both greedy and random
// sampling: each token is shown once, with its own logits.
TEST(Engine, ObserverSeesTheLogitsOfEveryTokenOnce) {
  const Context context = Context::machine();
  auto decoder = testing::random_decoder(testing::scaled_down("tinyllama-1.1b"), context);
  Engine engine(context, *decoder, contiguous(),
                {.limits = {.max_batch = 4, .max_sequence_tokens = 40}, .step_tokens = 7});
  std::map<RequestId, std::vector<std::vector<float>>> seen;
  engine.observe_logits([&](const LogitsRow& row) {
    EXPECT_EQ(row.logits.size(), 97u);
    EXPECT_EQ(row.index, static_cast<int32_t>(seen[row.request].size())) << row.request;
    seen[row.request].emplace_back(row.logits.begin(), row.logits.end());
  });
  std::map<RequestId, SamplingOptions> sampling;
  for (Request& request : mixed_requests()) {
    sampling[request.id] = request.sampling;
    request.logits = LogitsMode::kDrawn;
    engine.submit(request);
  }
  const Tokens tokens = tokens_of(engine.run());
  ASSERT_EQ(seen.size(), tokens.size());
  for (const auto& [id, of_request] : tokens) {
    ASSERT_EQ(seen[id].size(), of_request.size()) << id;
    for (size_t i = 0; i < of_request.size(); ++i)
      EXPECT_EQ(sample(seen[id][i], sampling[id], id, static_cast<int32_t>(i)), of_request[i])
          << id << " token " << i;
  }
}

TEST(Engine, TwoEnginesOnOneDecoderDoNotDisturbEachOther) {
  const Context context = Context::machine();
  auto decoder = testing::random_decoder(testing::scaled_down("tinyllama-1.1b"), context);
  const EngineOptions options{.limits = {.max_batch = 1, .max_sequence_tokens = 40}};
  Engine a(context, *decoder, contiguous(), options), b(context, *decoder, contiguous(), options);
  const Request request = mixed_requests()[2];
  a.submit(request);
  b.submit(request);
  std::vector<TokenEvent> from_a, from_b;
  while (a.has_work() || b.has_work()) {  // in turn
    for (const TokenEvent& event : a.step().events) from_a.push_back(event);
    for (const TokenEvent& event : b.step().events) from_b.push_back(event);
  }
  EXPECT_EQ(tokens_of(from_a), tokens_of(from_b));
  EXPECT_EQ(tokens_of(from_a), run_together(*decoder, {request}, 1, 512, "contiguous", context));
}

// Writes down what the engine asks of it, in order.
class TellingMethod final : public reuse::BlockPerSequence {
 public:
  explicit TellingMethod(std::string* told) : told_(told) {}
  [[nodiscard]] int32_t cached_tokens(RequestId, int32_t tokens) const override { return tokens; }
  [[nodiscard]] reuse::PoolNeed pool_need(const reuse::EngineLimits& limits) const override {
    *told_ += fmt::format("need {};", limits.max_batch);
    return reuse::BlockPerSequence::pool_need(limits);
  }
  [[nodiscard]] bool reserve(reuse::StepBatch batch, kv::BlockPool&) override {
    *told_ += "reserve";
    for (const reuse::StepSequence& part : batch)
      for (int32_t row = 0; row < part.rows; ++row)
        *told_ += fmt::format(" {}", part.tokens[static_cast<size_t>(part.first_token + row)]);
    *told_ += ";";
    return true;
  }
  void plan(reuse::StepBatch batch, const kv::BlockPool& pool, kv::AttentionPlan& out) override {
    *told_ += "plan;";
    reuse::BlockPerSequence::plan(batch, pool, out);
  }
  void computed(reuse::StepBatch batch, kv::BlockPool&) override {
    *told_ += fmt::format("computed {};", batch[0].first_token + batch[0].rows);
  }
  void retire(RequestId id, kv::BlockPool& pool) override {
    *told_ += "retire;";
    reuse::BlockPerSequence::retire(id, pool);
  }

 private:
  std::string* told_;
};

TEST_F(EngineTest, TellsAMethodWhenToTakeCacheAndWhenItIsFilled) {
  std::string told;
  Engine engine(context_, decoder_, std::make_unique<TellingMethod>(&told),
                {.limits = {.max_batch = 4, .max_sequence_tokens = 20}, .step_tokens = 3});
  EXPECT_EQ(told, "need 4;");
  told.clear();
  decoder_.failing_step = 2;
  engine.submit({.id = 1, .prompt = {5, 6, 7, 8}, .max_new_tokens = 2});
  engine.step();
  EXPECT_THROW(engine.step(), Error);
  engine.run();
  EXPECT_EQ(told,
            "reserve 5 6 7;plan;computed 3;"
            "reserve 8;plan;"
            "reserve 8;plan;computed 4;"
            "reserve 9;plan;computed 5;retire;");
}

}  // namespace
}  // namespace reprise::engine
