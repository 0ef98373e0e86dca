// Tests requests that score all their tokens (LogitsMode::kAll), and requests that generate
// nothing.
#include <gtest/gtest.h>

#include "tests/support/counting_decoder.h"
#include "tests/support/json.h"
#include "tests/support/run_model.h"
#include "tests/support/tiny_models.h"

namespace reprise::engine {
namespace {

using testing::counting_from;
using testing::CountingDecoder;
using testing::ends_of;
using testing::tokens_of;

// The rows and logits that an observer saw of each request.
struct Seen {
  std::map<RequestId, std::vector<int32_t>> tokens, indices;
  void operator()(const LogitsRow& row) {
    tokens[row.request].push_back(row.token);
    indices[row.request].push_back(row.index);
  }
};

std::vector<int32_t> range(int32_t first, int32_t end) {
  std::vector<int32_t> values;
  for (int32_t i = first; i < end; ++i) values.push_back(i);
  return values;
}

class Logits : public ::testing::Test {
 protected:
  Engine make(int32_t step_tokens, int32_t num_blocks = 0, const char* method = "paged",
              const Json& method_options = {{"block_tokens", 16}}) {
    return {context_,
            decoder_,
            methods::make_cache(method, method_options),
            {.limits = {.max_batch = 4, .max_sequence_tokens = 100, .prefix_tokens = 40},
             .step_tokens = step_tokens,
             .num_blocks = num_blocks}};
  }
  Context context_{.threads = 1, .isa = best_isa()};
  CountingDecoder decoder_;
};

TEST_F(Logits, PromptAloneIsComputedAndNothingDrawn) {
  for (int32_t step_tokens : {3, 100}) {
    Engine engine = make(step_tokens);
    engine.submit({.id = 1, .prompt = counting_from(3, 10), .max_new_tokens = 0});
    const std::vector<TokenEvent> events = engine.run();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_FALSE(events[0].has_token());
    EXPECT_EQ(events[0].finish, FinishReason::kLength);
    EXPECT_EQ(events[0].times.first_token, kNotYet);
    EXPECT_EQ(engine.pool().used_blocks(), 0);
  }
}

TEST_F(Logits, AllModeShowsEveryTokenOnceInOrderBesideOthers) {
  for (int32_t step_tokens : {1, 4, 7, 100}) {
    Engine engine = make(step_tokens);
    Seen seen;
    engine.observe_logits(std::ref(seen));
    engine.submit(
        {.id = 1, .prompt = counting_from(3, 10), .max_new_tokens = 0, .logits = LogitsMode::kAll});
    engine.submit(
        {.id = 2, .prompt = counting_from(3, 12), .max_new_tokens = 3, .logits = LogitsMode::kAll});
    engine.submit({.id = 3,
                   .prompt = counting_from(3, 9),
                   .max_new_tokens = 3,
                   .logits = LogitsMode::kDrawn});
    engine.submit({.id = 4, .prompt = counting_from(3, 9), .max_new_tokens = 3});
    const std::vector<TokenEvent> events = engine.run();
    EXPECT_EQ(seen.tokens[1], range(0, 10)) << step_tokens;
    EXPECT_EQ(seen.indices[1], std::vector<int32_t>(10, -1));
    EXPECT_EQ(seen.tokens[2], range(0, 14)) << step_tokens;
    EXPECT_EQ(seen.indices[2][10], -1);
    EXPECT_EQ(seen.indices[2][11], 0);
    EXPECT_EQ(seen.indices[2][13], 2);
    EXPECT_EQ(seen.tokens[3], range(8, 11));
    EXPECT_EQ(seen.indices[3], range(0, 3));
    EXPECT_FALSE(seen.tokens.contains(4));
    EXPECT_EQ(tokens_of(events).at(2), counting_from(15, 3));
  }
}

TEST_F(Logits, PreemptionShowsNothingTwice) {
  Engine engine = make(16, /*num_blocks=*/6);
  Seen seen;
  engine.observe_logits(std::ref(seen));
  for (RequestId id : {1, 2, 3})
    engine.submit({.id = id,
                   .prompt = counting_from(static_cast<int32_t>(id), 20),
                   .max_new_tokens = 50,
                   .logits = id == 2 ? LogitsMode::kDrawn : LogitsMode::kAll});
  int32_t preempted = 0;
  while (engine.has_work()) preempted += engine.step().preempted;
  EXPECT_GT(preempted, 0);
  for (RequestId id : {1, 3}) EXPECT_EQ(seen.tokens[id], range(0, 69)) << id;
  EXPECT_EQ(seen.indices[2], range(0, 50));
}

// The cache may hold the prompt's states, but it does not hold the prompt's logits.
TEST_F(Logits, WhatIsInTheCacheIsComputedAgainForItsLogits) {
  Engine engine = make(100, 0, "chunk_attention",
                       {{"chunk_tokens", 16}, {"reuse_prefill", true}, {"retain", true}});
  Seen seen;
  for (const auto& [mode, computed] :
       {std::pair{LogitsMode::kNone, 40}, {LogitsMode::kAll, 40}, {LogitsMode::kNone, 40 - 32}}) {
    engine.observe_logits(std::ref(seen));
    engine.submit({.id = 1, .prompt = counting_from(0, 40), .max_new_tokens = 0, .logits = mode});
    EXPECT_EQ(engine.step().prefill_tokens, computed);
  }
  EXPECT_EQ(seen.tokens[1], range(0, 40));
}

// `reprise logits` once failed with "has no room" for 50 tokens of `paged` and for 78 of
// `relay_attention`. Every method must take any length, and all methods must give the same logits.
TEST(ScoringLogits, EveryMethodAndLength) {
  const Context context = Context::machine();
  Json config = testing::scaled_down("llama-2-7b");
  config["num_hidden_layers"] = 1;
  auto decoder = testing::random_decoder(config, context);
  const int64_t vocab = decoder->config().vocab;
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < 200; ++i) ids.push_back((i * i + 3 * i) % 97);
  const std::vector<float> want = testing::all_logits(*decoder, ids, 512);
  ASSERT_EQ(std::ssize(want), 200 * vocab);
  for (const std::string& method : testing::exact_methods())
    for (int32_t tokens = 1; tokens <= 200; tokens += tokens < 130 ? 1 : 7) {
      const auto length = static_cast<size_t>(tokens);
      const std::vector<float> got =
          testing::all_logits(*decoder, std::span(ids).first(length), tokens % 3 == 0 ? 17 : 512,
                              DType::kF32, {}, method);
      ASSERT_EQ(got.size(), length * static_cast<size_t>(vocab)) << method << " " << tokens;
      float worst = 0;
      for (size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(got[i] - want[i]));
      ASSERT_LE(worst, 1e-4f) << method << " " << tokens;
    }
}

}  // namespace
}  // namespace reprise::engine
