// Prefixes declared, listed and dropped while requests run.
#include "core/engine/named_prefixes.h"

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
using testing::tokens_of;

class Prefixes : public ::testing::Test {
 protected:
  Engine make(const char* method = "relay_attention", int32_t num_blocks = 0,
              const Json& method_options = {{"block_tokens", 8}}) {
    return {
        context_,
        decoder_,
        methods::make_cache(method, method_options),
        {.limits = {.max_batch = 3, .max_sequence_tokens = 60, .prefix_tokens = 60, .prefixes = 3},
         .step_tokens = 16,
         .num_blocks = num_blocks}};
  }
  static PrefixInfo info(const Engine& engine, const std::string& name) {
    for (const PrefixInfo& prefix : engine.prefixes())
      if (prefix.name == name) return prefix;
    ADD_FAILURE() << "no prefix " << name;
    return {};
  }
  Context context_{.threads = 1, .isa = best_isa()};
  CountingDecoder decoder_;
  std::vector<int32_t> system_ = counting_from(1, 20);
};

TEST_F(Prefixes, AreComputedAsARequestLikeAnyOtherWhileOthersRun) {
  Engine engine = make();
  std::vector<TokenEvent> events;
  const auto step = [&] {
    const StepReport report = engine.step();
    events.insert(events.end(), report.events.begin(), report.events.end());
    return report;
  };
  engine.submit({.id = 1, .prompt = counting_from(1, 25), .max_new_tokens = 30});
  step();
  step();
  engine.declare_prefix("system", system_);
  EXPECT_FALSE(info(engine, "system").is_ready);
  EXPECT_EQ(info(engine, "system").tokens, 20);
  EXPECT_EQ(info(engine, "system").bytes, 0);
  engine.submit({.id = 2, .prompt = counting_from(1, 25), .max_new_tokens = 30});
  const StepReport mixed = step();
  EXPECT_EQ(mixed.decode_tokens, 1);
  EXPECT_EQ(mixed.prefill_tokens, 15);
  while (!info(engine, "system").is_ready) step();
  EXPECT_EQ(info(engine, "system").bytes, 3 * engine.pool().block_bytes());
  EXPECT_EQ(info(engine, "system").users, 0) << "both came before it was there";
  engine.submit({.id = 3, .prompt = counting_from(1, 25), .max_new_tokens = 4});
  step();
  EXPECT_EQ(info(engine, "system").users, 1);
  while (engine.has_work()) step();
  for (const TokenEvent& event : events) EXPECT_GE(event.request, 0) << "of the engine's own";
  EXPECT_EQ(tokens_of(events).at(3), counting_from(26, 4));
  EXPECT_EQ(engine.pool().used_blocks(), 3);
  engine.drop_prefix("system");
  EXPECT_EQ(engine.pool().used_blocks(), 0);
  EXPECT_TRUE(engine.prefixes().empty());
}

TEST_F(Prefixes, DroppedInUseTheyGoWithTheLastUser) {
  Engine engine = make();
  engine.declare_prefix("system", system_);
  engine.run();
  for (RequestId id : {1, 2})
    engine.submit({.id = id, .prompt = counting_from(1, 22), .max_new_tokens = id == 1 ? 2 : 6});
  std::vector<TokenEvent> events = engine.step().events;
  EXPECT_EQ(info(engine, "system").users, 2);
  engine.drop_prefix("system");
  EXPECT_EQ(engine.pool().used_blocks(), 3 + 2);
  // The prefix's name and its tokens can be declared again.
  engine.declare_prefix("system", counting_from(5, 9));
  for (const TokenEvent& event : engine.run()) events.push_back(event);
  EXPECT_EQ(tokens_of(events).at(2), counting_from(23, 6));
  EXPECT_EQ(engine.pool().used_blocks(), 2) << "the other prefix";
  engine.drop_prefix("system");
  EXPECT_EQ(engine.pool().used_blocks(), 0);
}

TEST_F(Prefixes, DroppedBeforeTheyAreThereTheyAreNeverComputed) {
  for (int steps : {0, 1}) {
    Engine engine = make();
    engine.declare_prefix("long", counting_from(1, 40));
    for (int i = 0; i < steps; ++i) (void)engine.step();
    EXPECT_EQ(engine.pool().used_blocks() > 0, steps > 0);
    engine.drop_prefix("long");
    EXPECT_EQ(engine.pool().used_blocks(), 0);
    EXPECT_FALSE(engine.has_work());
  }
}

TEST_F(Prefixes, MistakesNameTheThing) {
  Engine engine = make();
  engine.declare_prefix("system", system_);
  expect_error([&] { engine.declare_prefix("system", counting_from(2, 3)); },
               {"\"system\"", "in use", "drop"});
  expect_error([&] { engine.declare_prefix("", system_); }, {"without a name"});
  expect_error([&] { engine.declare_prefix("empty", {}); }, {"\"empty\"", "at least one token"});
  expect_error([&] { engine.declare_prefix("odd", {1, 99}); }, {"\"odd\"", "99", "vocabulary"});
  expect_error([&] { engine.declare_prefix("long", counting_from(0, 61)); },
               {"prefix \"long\" needs 61"});
  expect_error([&] { engine.drop_prefix("sytem"); }, {"did you mean \"system\"?"});
  EXPECT_EQ(engine.prefixes().size(), 1u);
}

TEST_F(Prefixes, EqualOnesAreKeptOnceUnderAllTheirNames) {
  Engine engine = make();
  engine.declare_prefix("a", system_);
  engine.declare_prefix("b", system_);
  engine.run();
  engine.declare_prefix("c", system_);
  EXPECT_EQ(engine.pool().used_blocks(), 3);
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(info(engine, name).is_ready);
  engine.drop_prefix("b");
  engine.drop_prefix("a");
  EXPECT_EQ(engine.pool().used_blocks(), 3);
  engine.drop_prefix("c");
  EXPECT_EQ(engine.pool().used_blocks(), 0);
}

TEST_F(Prefixes, OneThatDoesNotFitIsRefusedByAnEventAndItsNameIsFree) {
  Engine engine = make("relay_attention", /*num_blocks=*/4);
  engine.declare_prefix("system", counting_from(1, 40));
  const std::vector<TokenEvent> events = engine.run();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_LT(events[0].request, 0);
  EXPECT_EQ(events[0].finish, FinishReason::kRefused);
  for (const char* part : {"prefix \"system\"", "40 tokens", "4 of 4 blocks of 8"})
    EXPECT_NE(events[0].reason.find(part), std::string::npos) << events[0].reason;
  EXPECT_TRUE(engine.prefixes().empty());
  engine.declare_prefix("system", system_);
  EXPECT_TRUE(engine.run().empty());
  EXPECT_TRUE(info(engine, "system").is_ready);
}

// A kept prefix may leave too little memory for other requests. Such requests are refused and must
// not wait for ever.
TEST_F(Prefixes, WhatTheyHoldIsMissingForOthersUntilTheyAreDropped) {
  Engine engine = make("relay_attention", /*num_blocks=*/4);
  engine.declare_prefix("system", system_);
  engine.run();
  engine.submit({.id = 1, .prompt = counting_from(7, 20), .max_new_tokens = 1});
  const std::vector<TokenEvent> events = engine.run();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_NE(events[0].reason.find("1 of 4 blocks"), std::string::npos) << events[0].reason;
  engine.drop_prefix("system");
  engine.submit({.id = 1, .prompt = counting_from(7, 20), .max_new_tokens = 1});
  EXPECT_EQ(tokens_of(engine.run()).at(1), counting_from(27, 1));
}

TEST_F(Prefixes, MethodsThatKeepNoneListThemByName) {
  for (const char* method : {"contiguous", "chunk_attention"}) {
    ASSERT_EQ(methods::make_cache(method, {})->prefix_keeper(), nullptr) << method;
    Engine engine = make(method, 0, Json::object());
    engine.declare_prefix("system", system_);
    EXPECT_FALSE(engine.has_work());
    EXPECT_TRUE(info(engine, "system").is_ready);
    EXPECT_EQ(info(engine, "system").bytes, 0);
    engine.drop_prefix("system");
    EXPECT_TRUE(engine.prefixes().empty());
  }
}

}  // namespace
}  // namespace reprise::engine
