#include "core/reuse/prefix_tree_cache.h"

#include <gtest/gtest.h>

#include <map>

#include "core/base/error.h"
#include "core/reuse/plan_builder.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/reuse/counting.h"

namespace reprise::reuse {
namespace {

using model::expect_error;
using Tokens = std::vector<int32_t>;

class TestMethod final : public PrefixTreeCache {
 public:
  explicit TestMethod(const PrefixTreeCacheOptions& options)
      : PrefixTreeCache(options, [](const TreeNode& node) { return node.sequences > 1; }) {}
};

kv::BlockPool pool_of(int32_t blocks) {
  return kv::BlockPool(
      {.layers = 1, .kv_heads = 1, .head_dim = 1, .block_tokens = 4, .num_blocks = blocks});
}

std::map<std::string, double> metrics_of(const SequenceCache& method) {
  std::map<std::string, double> metrics;
  method.report([&](std::string_view name, double value, std::string_view) {
    metrics[std::string(name)] = value;
  });
  return metrics;
}

// Steps one sequence as the engine would. A step that `fails` is planned but not computed.
void step(TestMethod& method, kv::BlockPool& pool, RequestId id, const Tokens& tokens,
          int32_t first_token, kv::AttentionPlan& plan, bool fails = false) {
  const Tokens positions = counting(0, static_cast<int32_t>(tokens.size()));
  const StepSequence part{.id = id,
                          .first_row = 0,
                          .rows = static_cast<int32_t>(tokens.size()) - first_token,
                          .first_token = first_token,
                          .positions = positions,
                          .tokens = tokens,
                          .length = static_cast<int32_t>(tokens.size())};
  ASSERT_TRUE(method.reserve({&part, 1}, pool));
  write_plan(method, {}, {&part, 1}, pool, plan);
  if (!fails) method.computed({&part, 1}, pool);
}

PrefixTreeCacheOptions chunks(bool reuse_prefill) {
  return {.tree = {.chunk_tokens = 4}, .reuse_prefill = reuse_prefill};
}

TEST(PrefixTreeCache, RequestWaitsForThePrefixThatAnotherComputes) {
  TestMethod method(chunks(true));
  kv::BlockPool pool = pool_of(20);
  kv::AttentionPlan plan;
  const Tokens prompt = counting(0, 9);
  ASSERT_TRUE(method.admit({.id = 1, .tokens = prompt}, pool).admitted);
  const Tokens longer = counting(0, 10);
  const NewSequence second{.id = 2, .tokens = longer};
  EXPECT_FALSE(method.admit(second, pool).admitted);
  EXPECT_TRUE(method.admit({.id = 3, .tokens = counting(50, 9)}, pool).admitted);
  // A step that fails has computed nothing.
  step(method, pool, 1, prompt, 0, plan, /*fails=*/true);
  EXPECT_FALSE(method.admit(second, pool).admitted);
  step(method, pool, 1, prompt, 0, plan);
  const Admission admission = method.admit(second, pool);
  EXPECT_TRUE(admission.admitted);
  EXPECT_EQ(admission.reused_tokens, 8);
  for (RequestId id : {1, 2, 3}) method.retire(id, pool);
  EXPECT_EQ(pool.used_blocks(), 0);
}

// Both sequences compute the whole prompt. The tokens that are stored already when the second
// computes them are not stored again.
TEST(PrefixTreeCache, WithoutReuseDuplicatesAreNotStored) {
  TestMethod method(chunks(false));
  kv::BlockPool pool = pool_of(20);
  kv::AttentionPlan plan;
  const Tokens prompt = counting(0, 10);
  for (RequestId id : {1, 2}) {
    const Admission admission = method.admit({.id = id, .tokens = prompt}, pool);
    ASSERT_TRUE(admission.admitted);
    EXPECT_EQ(admission.reused_tokens, 0);
  }
  EXPECT_EQ(pool.used_blocks(), 2 + 1 + 1);
  step(method, pool, 1, prompt, 0, plan);
  EXPECT_EQ(std::count(plan.row_slots.begin(), plan.row_slots.end(), kv::kNoSlot), 0);
  const std::vector<int64_t> first = plan.row_slots;
  for (const bool fails : {true, false}) {
    step(method, pool, 2, prompt, 0, plan, fails);
    for (size_t row = 0; row < 10; ++row) {
      EXPECT_EQ(plan.row_slots[row] == kv::kNoSlot, row < 8) << row;
      EXPECT_EQ(std::count(first.begin(), first.end(), plan.row_slots[row]), 0) << row;
    }
  }
  EXPECT_EQ(pool.peak_used_blocks(), 2 + 1 + 1);
  for (RequestId id : {1, 2}) method.retire(id, pool);
  EXPECT_EQ(pool.used_blocks(), 0);
}

TEST(PrefixTreeCache, PromptThatIsThereWholeComputesItsLastTokenOnly) {
  TestMethod method(chunks(true));
  kv::BlockPool pool = pool_of(20);
  kv::AttentionPlan plan;
  const Tokens prompt = counting(0, 8);
  ASSERT_TRUE(method.admit({.id = 1, .tokens = prompt}, pool).admitted);
  step(method, pool, 1, prompt, 0, plan);
  EXPECT_EQ(method.admit({.id = 2, .tokens = prompt}, pool).reused_tokens, 7);
  step(method, pool, 2, prompt, 7, plan);
  EXPECT_EQ(plan.row_slots, std::vector<int64_t>{kv::kNoSlot});
  ASSERT_EQ(plan.items.size(), 1u);
  EXPECT_EQ(plan.segments[0].tokens, 8);
  EXPECT_EQ(metrics_of(method).at("reused_tokens"), 7);
  EXPECT_EQ(metrics_of(method).at("matched_tokens"), 8);
}

// Admission takes blocks for the tokens that are there. Generated tokens take their blocks as they
// come, and may find none free.
TEST(PrefixTreeCache, AdmitsByWhatIsFreeAndReservesAsSequencesGrow) {
  TestMethod method({.tree = {.chunk_tokens = 4, .matching = Matching::kNone}});
  kv::BlockPool pool = pool_of(5);
  const Tokens five = counting(0, 5);
  const NewSequence request{.id = 1, .tokens = five, .max_new_tokens = 8};
  EXPECT_TRUE(method.admit(request, pool).admitted);
  EXPECT_EQ(pool.used_blocks(), 2);
  EXPECT_EQ(method.held_blocks(1), 2);
  EXPECT_FALSE(method.admit({.id = 2, .tokens = five, .max_new_tokens = 8, .spare_blocks = 2}, pool)
                   .admitted);
  EXPECT_TRUE(method.admit({.id = 2, .tokens = five, .max_new_tokens = 8, .spare_blocks = 1}, pool)
                  .admitted);
  kv::AttentionPlan plan;
  Tokens tokens = counting(0, 5);
  step(method, pool, 1, tokens, 0, plan);
  for (int32_t token = 5; token < 12; ++token) {
    tokens.push_back(token);
    step(method, pool, 1, tokens, token, plan);
  }
  EXPECT_EQ(pool.used_blocks(), 5);
  const Tokens longer = counting(0, 9);
  const StepSequence part{
      .id = 2, .rows = 1, .first_token = 8, .positions = longer, .tokens = longer, .length = 9};
  EXPECT_FALSE(method.reserve({&part, 1}, pool));
  method.retire(1, pool);
  EXPECT_TRUE(method.reserve({&part, 1}, pool));
  EXPECT_EQ(method.held_blocks(2), 3);
  expect_error([&] { method.admit({.id = 2, .tokens = five}, pool); }, {"request id 2", "in use"});
}

TEST(PrefixTreeCache, WhatSomebodyWantsTheLogitsOfIsComputedAgain) {
  TestMethod method(chunks(true));
  kv::BlockPool pool = pool_of(20);
  kv::AttentionPlan plan;
  const Tokens prompt = counting(0, 9);
  ASSERT_TRUE(method.admit({.id = 1, .tokens = prompt}, pool).admitted);
  step(method, pool, 1, prompt, 0, plan);
  EXPECT_EQ(method.admit({.id = 2, .tokens = prompt, .most_reused_tokens = 3}, pool).reused_tokens,
            3);
  step(method, pool, 2, prompt, 3, plan);
  EXPECT_EQ(std::count(plan.row_slots.begin(), plan.row_slots.end(), kv::kNoSlot), 5);
  EXPECT_EQ(metrics_of(method).at("reused_tokens"), 3);
}

TEST(PrefixTreeCache, PoolHasRoomForEverySequenceUnsharedAndForPrefixes) {
  EngineLimits limits{.max_batch = 3, .max_sequence_tokens = 10, .prefix_tokens = 9, .prefixes = 2};
  EXPECT_EQ(TestMethod(chunks(false)).pool_need(limits).num_blocks, 3 * 3);
  PrefixTreeCacheOptions options = chunks(true);
  options.tree.retain = true;
  EXPECT_EQ(TestMethod(options).pool_need(limits).num_blocks, 3 * 3 + 3 + 1);
  limits.prefix_tokens = 0;
  EXPECT_EQ(TestMethod(options).pool_need(limits).num_blocks, 3 * 3);
  EXPECT_EQ(TestMethod(options).pool_need(limits).block_tokens, 4);
}

TEST(PrefixTreeCache, APoolNeedBeyondInt32IsCounted) {
  const PrefixTreeCacheOptions options{.tree = {.chunk_tokens = 8}};
  EXPECT_EQ(
      TestMethod(options).pool_need({.max_batch = 4096, .max_sequence_tokens = 8388616}).num_blocks,
      int64_t{4096} * 1048577);
}

TEST(PrefixTreeCache, DeclaredPrefixesStayAndAreReusedWhole) {
  TestMethod method(
      {.tree = {.chunk_tokens = 4, .matching = Matching::kPinned}, .reuse_prefill = true});
  kv::BlockPool pool = pool_of(40);
  kv::AttentionPlan plan;
  const Tokens prefix = counting(0, 6);
  ASSERT_EQ(method.prefix_keeper(), &method);
  method.declare_prefix(-2, prefix);
  ASSERT_TRUE(method.admit({.id = -2, .tokens = prefix, .max_new_tokens = 1}, pool).admitted);
  EXPECT_EQ(method.prefix_use(-2).blocks, 0) << "it is not computed";
  // A preempted prefix gives back all its blocks and is admitted anew.
  EXPECT_EQ(pool.used_blocks(), 2);
  method.retire(-2, pool);
  EXPECT_EQ(pool.used_blocks(), 0);
  ASSERT_TRUE(method.admit({.id = -2, .tokens = prefix, .max_new_tokens = 0}, pool).admitted);
  step(method, pool, -2, prefix, 0, plan);
  method.keep_prefix(-2, pool);
  EXPECT_EQ(pool.used_blocks(), 2);
  EXPECT_EQ(method.prefix_use(-2).blocks, 2);

  const Tokens prompt = counting(0, 8);
  EXPECT_EQ(method.admit({.id = 1, .tokens = prompt}, pool).reused_tokens, 6);
  EXPECT_EQ(method.admit({.id = 2, .tokens = counting(1, 8)}, pool).reused_tokens, 0);
  EXPECT_EQ(method.admit({.id = 3, .tokens = prefix}, pool).reused_tokens, 5);
  EXPECT_EQ(method.prefix_use(-2).users, 2);
  step(method, pool, 1, prompt, 6, plan);
  EXPECT_EQ(plan.row_positions, (Tokens{6, 7}));
  for (RequestId id : {2, 3}) method.retire(id, pool);
  EXPECT_EQ(pool.used_blocks(), 2 + 1);
  method.drop_prefix(-2, pool);
  EXPECT_EQ(pool.used_blocks(), 2 + 1) << "in use";
  method.declare_prefix(-4, prompt);
  method.drop_prefix(-4, pool);
  method.retire(1, pool);
  EXPECT_EQ(pool.used_blocks(), 0);
}

TEST(PrefixTreeCache, RetainedPrefixesAreReusedAfterTheirLastUser) {
  PrefixTreeCacheOptions options = chunks(true);
  EXPECT_FALSE(TestMethod(options).retains());
  options.tree.retain = true;
  TestMethod method(options);
  EXPECT_TRUE(method.retains());
  kv::BlockPool pool = pool_of(6);
  kv::AttentionPlan plan;
  const Tokens prompt = counting(0, 10);
  ASSERT_TRUE(method.admit({.id = 1, .tokens = prompt, .max_new_tokens = 2}, pool).admitted);
  step(method, pool, 1, prompt, 0, plan);
  method.retire(1, pool);
  EXPECT_EQ(pool.used_blocks(), 2);
  EXPECT_EQ(metrics_of(method).at("retained_kv_bytes"),
            2.0 * static_cast<double>(pool.block_bytes()));
  EXPECT_EQ(method.admit({.id = 2, .tokens = prompt, .max_new_tokens = 2}, pool).reused_tokens, 8);
  method.retire(2, pool);
  // A request that needs the room gets it.
  EXPECT_TRUE(
      method.admit({.id = 3, .tokens = counting(90, 17), .max_new_tokens = 1}, pool).admitted);
  EXPECT_EQ(metrics_of(method).at("retained_kv_bytes"), static_cast<double>(pool.block_bytes()));
}

}  // namespace
}  // namespace reprise::reuse
