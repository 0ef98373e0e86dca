#include "methods/relay_attention/relay_attention.h"

#include <gtest/gtest.h>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"
#include "tests/support/run_requests.h"
#include "tests/support/tiny_models.h"

namespace reprise::methods {
namespace {

using model::expect_error;
using testing::Arrival;
using Tokens = std::vector<int32_t>;

RelayAttentionOptions read_relay(const Json& json) {
  return reuse::read_options<RelayAttentionOptions>(fields_of(json), "options");
}

TEST(RelayAttention, AsCodedIsOnePrefixInABufferOfLlama2sLongestLength) {
  EXPECT_EQ(read_relay(Json::object()).most_prefixes, 0);
  EXPECT_EQ(read_relay({{"preset", "as_coded"}}).most_prefixes, 1);
  EXPECT_EQ(read_relay({{"preset", "as_coded"}}).prefix_buffer_tokens, 4096);
  EXPECT_EQ(
      read_relay({{"preset", "as_coded"}, {"prefix_buffer_tokens", 2048}}).prefix_buffer_tokens,
      2048);
}

TEST(RelayAttention, MistakesNameTheOption) {
  expect_error(
      [] {
        read_relay({{"preset", "as_code"}});
      },
      {"preset", "did you mean \"as_coded\"?"});
  expect_error([] { read_relay({{"block_tokens", 4}}); }, {"block_tokens", "8 to 1024"});
}

Tokens counting(int32_t first, int32_t count) {
  Tokens tokens;
  for (int32_t i = 0; i < count; ++i) tokens.push_back(first + i);
  return tokens;
}

// The prefix has a buffer of five blocks, of which it fills two.
TEST(RelayAttention, TheBufferOfAPrefixIsHeldWithItsSequenceAndWhileItIsKept) {
  RelayAttention cache({.block_tokens = 4, .most_prefixes = 1, .prefix_buffer_tokens = 20});
  kv::BlockPool pool(
      {.layers = 1, .kv_heads = 1, .head_dim = 1, .block_tokens = 4, .num_blocks = 6});
  const reuse::EngineLimits limits{.max_batch = 3, .max_sequence_tokens = 9};
  EXPECT_EQ(cache.pool_need(limits).num_blocks, 3 * 3 + 5);
  reuse::EngineLimits declared = limits;
  declared.prefix_tokens = 6;
  EXPECT_EQ(cache.pool_need(declared).num_blocks, 3 * 3 + 5) << "the prefix lies in its buffer";
  declared.prefix_tokens = 21;
  EXPECT_EQ(cache.pool_need(declared).num_blocks, 3 * 3 + 6) << "the prefix exceeds its buffer";
  const Tokens prefix = counting(0, 6), positions = counting(0, 6);
  cache.declare_prefix(-2, prefix);
  expect_error([&] { cache.declare_prefix(-3, counting(0, 5)); },
               {"\"relay_attention\"", "1 prefix"});
  EXPECT_FALSE(
      cache.admit({.id = -2, .tokens = prefix, .max_new_tokens = 0, .spare_blocks = 2}, pool)
          .admitted)
      << "two spare blocks and the buffer are seven";
  EXPECT_EQ(pool.used_blocks(), 0);
  // A preempted prefix gives all blocks back and is admitted anew.
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(cache.admit({.id = -2, .tokens = prefix, .max_new_tokens = 0}, pool).admitted);
    EXPECT_EQ(pool.used_blocks(), 5);
    EXPECT_EQ(cache.prefix_use(-2).blocks, 0) << "it is not computed";
    if (i > 0) break;
    cache.retire(-2, pool);
    EXPECT_EQ(pool.used_blocks(), 0);
  }
  const reuse::StepSequence step{
      .id = -2, .rows = 6, .positions = positions, .tokens = prefix, .length = 6};
  cache.computed({&step, 1}, pool);
  cache.keep_prefix(-2, pool);
  EXPECT_EQ(cache.prefix_use(-2).blocks, 5);
  EXPECT_EQ(pool.used_blocks(), 5);
  EXPECT_EQ(cache.admit({.id = 1, .tokens = counting(0, 8)}, pool).reused_tokens, 6);
  cache.drop_prefix(-2, pool);
  EXPECT_EQ(pool.used_blocks(), 2 + 1) << "in use";
  cache.declare_prefix(-4, prefix);
  cache.drop_prefix(-4, pool);
  cache.retire(1, pool);
  EXPECT_EQ(pool.used_blocks(), 0);
}

// Prefixes of two blocks and sequences of three. Each prefix has a buffer of five blocks.
TEST(RelayAttention, ThePoolHoldsTheBufferOfEachPrefixBesideAFullBatch) {
  RelayAttention cache({.block_tokens = 4, .prefix_buffer_tokens = 20});
  const reuse::EngineLimits limits{
      .max_batch = 2, .max_sequence_tokens = 12, .prefix_tokens = 18, .prefixes = 3};
  kv::BlockPool pool({.layers = 1,
                      .kv_heads = 1,
                      .head_dim = 1,
                      .block_tokens = 4,
                      .num_blocks = static_cast<int32_t>(cache.pool_need(limits).num_blocks)});
  for (const reuse::RequestId id : {-2, -3, -4}) {
    const Tokens prefix = counting(static_cast<int32_t>(-10 * id), 6), positions = counting(0, 6);
    cache.declare_prefix(id, prefix);
    ASSERT_TRUE(cache.admit({.id = id, .tokens = prefix, .max_new_tokens = 0}, pool).admitted)
        << id;
    const reuse::StepSequence step{
        .id = id, .rows = 6, .positions = positions, .tokens = prefix, .length = 6};
    cache.computed({&step, 1}, pool);
    cache.keep_prefix(id, pool);
  }
  for (const reuse::RequestId id : {1, 2})
    EXPECT_TRUE(
        cache.admit({.id = id, .tokens = counting(static_cast<int32_t>(100 * id), 12)}, pool)
            .admitted)
        << id;
  EXPECT_EQ(pool.used_blocks(), 3 * 5 + 2 * 3);
}

class Declared : public ::testing::Test {
 protected:
  engine::Engine make(const Json& options, const std::vector<Tokens>& prefixes) {
    return testing::make_engine(*decoder_, {"relay_attention", options}, arrivals_, 4, 512,
                                context_, DType::kF32, prefixes);
  }
  Context context_ = Context::machine();
  std::unique_ptr<model::Decoder> decoder_ =
      testing::random_decoder(testing::scaled_down("llama-2-7b"), context_);
  std::vector<Arrival> arrivals_ = {{0, {.id = 1, .prompt = counting(2, 30), .max_new_tokens = 5}},
                                    {0, {.id = 2, .prompt = counting(2, 40), .max_new_tokens = 5}},
                                    {1, {.id = 3, .prompt = counting(50, 30), .max_new_tokens = 5}},
                                    {1, {.id = 4, .prompt = counting(9, 9), .max_new_tokens = 5}}};
};

// Each request belongs to the longest prefix of its tokens; no token of it is computed again.
TEST_F(Declared, LongestPrefixOfEachRequestIsReusedWhole) {
  const std::vector<Tokens> prefixes = {counting(2, 21), counting(2, 33), counting(50, 29)};
  engine::Engine engine = make(Json::object(), prefixes);
  const testing::BatchRun run = testing::run_requests(engine, arrivals_, prefixes);
  EXPECT_EQ(run.metrics.at("reused_tokens"), 21 + 33 + 29);
  // Each prefix takes one block of 64 tokens, which it keeps.
  EXPECT_EQ(run.used_blocks, 3);
}

TEST_F(Declared, SecondPrefixOfAsCodedIsAnErrorThatNamesTheRemedy) {
  engine::Engine engine = make({{"preset", "as_coded"}}, {counting(2, 21)});
  engine.declare_prefix("system", counting(2, 21));
  engine.declare_prefix("again", counting(2, 21));
  EXPECT_EQ(engine.pool().used_blocks(), 0);
  engine.run();
  EXPECT_EQ(engine.pool().used_blocks(), 4096 / 16);
  expect_error([&] { engine.declare_prefix("another", counting(2, 22)); },
               {"relay_attention", "1 prefix", "preset"});
  engine.drop_prefix("system");
  EXPECT_EQ(engine.pool().used_blocks(), 4096 / 16) << "it has another name";
  engine.drop_prefix("again");
  EXPECT_EQ(engine.pool().used_blocks(), 0);
  engine.declare_prefix("another", counting(2, 22));
  engine.run();
  EXPECT_EQ(engine.pool().used_blocks(), 4096 / 16);
}

TEST_F(Declared, WithoutDeclaredPrefixesNothingIsShared) {
  engine::Engine engine = make(Json::object(), {});
  const testing::BatchRun run = testing::run_requests(engine, arrivals_);
  EXPECT_EQ(run.metrics.at("reused_tokens"), 0);
  EXPECT_EQ(run.used_blocks, 0);
}

}  // namespace
}  // namespace reprise::methods
