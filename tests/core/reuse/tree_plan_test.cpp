#include "core/reuse/tree_plan.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "tests/support/random_tree.h"

namespace reprise::reuse {
namespace {

using testing::plan_step;
using testing::RandomTree;

const kv::BlockPoolOptions kTiny = {.layers = 1, .kv_heads = 1, .head_dim = 1};

// A key as a row reads it: its place in memory and its position.
using Key = std::pair<int64_t, int32_t>;

std::multiset<Key> keys_read(const kv::AttentionPlan& plan, int32_t row) {
  std::multiset<Key> keys;
  for (const kv::WorkItem& item : plan.items) {
    if (row < item.first_row || row >= item.end_row) continue;
    const kv::Segment& segment = plan.segments[static_cast<size_t>(item.segment)];
    for (int32_t t = 0; t < segment.tokens; ++t)
      if (item.mask == kv::Mask::kNone || t < item.visible + row - item.first_row) {
        const int32_t i = segment.skipped + t;
        const auto block = static_cast<size_t>(segment.first_block + i / segment.block_tokens);
        // head_dim is 1: an offset counts tokens.
        keys.emplace(plan.block_offsets[block] + i % segment.block_tokens,
                     segment.first_position + t);
      }
  }
  return keys;
}

// The definition: the row of token t reads its sequence's tokens 0..t, each once.
std::multiset<Key> keys_due(const PrefixTree& tree, const kv::BlockPool& pool,
                            const TreeSequence& sequence, int32_t token) {
  std::multiset<Key> keys;
  for (int32_t index : sequence.path) {
    const Chunk& chunk = tree.chunk(index);
    for (int32_t i = 0; i < chunk.filled() && chunk.first_token + i <= token; ++i)
      keys.emplace(pool.offset_of(chunk.block, i), chunk.positions[static_cast<size_t>(i)]);
  }
  return keys;
}

// Expects that every row reads its keys by the definition, that each of these keys is in memory
// when it is read, and that no slot is written twice or after it was computed.
void expect_right(RandomTree& random, const std::vector<StepSequence>& batch,
                  const kv::AttentionPlan& plan) {
  const PrefixTree& tree = random.tree();
  std::set<int64_t> there;
  for (const auto& [id, sequence] : random.sequences())
    for (int32_t index : tree.sequence(id).path)
      for (int32_t i = 0; i < tree.chunk(index).computed; ++i)
        there.insert(random.pool().offset_of(tree.chunk(index).block, i));
  std::set<int64_t> written;
  for (int64_t slot : plan.row_slots) {
    if (slot == kv::kNoSlot) continue;
    ASSERT_TRUE(written.insert(slot).second) << "slot " << slot << " twice";
    ASSERT_FALSE(there.contains(slot)) << "slot " << slot << " is computed";
  }
  there.insert(written.begin(), written.end());
  int32_t row = 0;
  for (const StepSequence& part : batch) {
    const TreeSequence& sequence = tree.sequence(part.id);
    for (int32_t token = part.first_token; token < part.first_token + part.rows; ++token, ++row) {
      const std::multiset<Key> keys = keys_read(plan, row);
      ASSERT_EQ(keys, keys_due(tree, random.pool(), sequence, token)) << "row " << row;
      for (const Key& key : keys) ASSERT_TRUE(there.contains(key.first)) << "row " << row;
      ASSERT_EQ(plan.row_positions[static_cast<size_t>(row)],
                part.positions[static_cast<size_t>(token)]);
      ASSERT_EQ(plan.row_lengths[static_cast<size_t>(row)],
                *std::max_element(part.positions.begin(), part.positions.end()) + 1);
    }
  }
  ASSERT_EQ(plan.rows(), row);
}

void expect_equal(const kv::AttentionPlan& got, const kv::AttentionPlan& want) {
  ASSERT_EQ(got.block_offsets, want.block_offsets);
  ASSERT_EQ(got.row_positions, want.row_positions);
  ASSERT_EQ(got.row_lengths, want.row_lengths);
  ASSERT_EQ(got.row_slots, want.row_slots);
  ASSERT_EQ(got.row_begin, want.row_begin);
  ASSERT_EQ(got.row_items, want.row_items);
  ASSERT_EQ(got.segments.size(), want.segments.size());
  for (size_t i = 0; i < got.segments.size(); ++i) {
    ASSERT_EQ(got.segments[i].first_block, want.segments[i].first_block);
    ASSERT_EQ(got.segments[i].block_tokens, want.segments[i].block_tokens);
    ASSERT_EQ(got.segments[i].skipped, want.segments[i].skipped);
    ASSERT_EQ(got.segments[i].tokens, want.segments[i].tokens);
    ASSERT_EQ(got.segments[i].first_position, want.segments[i].first_position);
  }
  ASSERT_EQ(got.items.size(), want.items.size());
  for (size_t i = 0; i < got.items.size(); ++i) {
    ASSERT_EQ(got.items[i].segment, want.items[i].segment);
    ASSERT_EQ(got.items[i].first_row, want.items[i].first_row);
    ASSERT_EQ(got.items[i].end_row, want.items[i].end_row);
    ASSERT_EQ(got.items[i].mask, want.items[i].mask);
    ASSERT_EQ(got.items[i].visible, want.items[i].visible);
  }
}

struct Policy {
  const char* name;
  ShareDecision shares;
};

// The last policy decides arbitrarily, because any decision must give a right plan.
std::vector<Policy> policies() {
  return {{"all", [](const TreeNode&) { return true; }},
          {"none", [](const TreeNode&) { return false; }},
          {"more than two", [](const TreeNode& node) { return node.sequences > 2; }},
          {"odd", [](const TreeNode& node) {
             return (node.first_token * 7 + node.tokens * 3 + node.sequences) % 3 != 0;
           }}};
}

class RandomPlans : public ::testing::TestWithParam<bool> {};

TEST_P(RandomPlans, RowsReadTheirSequenceOnceAndAdvancedPlansEqualBuiltOnes) {
  int64_t advanced = 0, built = 0, behind_prefixes = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Policy policy = policies()[seed % 4];
    SCOPED_TRACE(policy.name);
    // Only if chunks have more than 8 tokens (a group of rows) can a segment go on behind a partly
    // filled chunk.
    const int32_t chunk_tokens = static_cast<int32_t>(seed % 3 == 0 ? 12 : seed / 4 % 6 + 1);
    RandomTree random(seed, chunk_tokens, 400, kTiny, GetParam());
    if (seed / 3 % 2 == 0)
      for (int prefixes = random.pick(1, 3); prefixes > 0; --prefixes) random.declare();
    const TreePlanOptions options = {
        .shared_partition_tokens = seed % 3 == 1 ? chunk_tokens : 0,
        .private_partition_tokens = seed % 5 == 0 ? 2 * chunk_tokens : 0};
    TreePlanner planner(policy.shares, options);
    const bool reuse = seed % 2 == 0;
    kv::AttentionPlan plan;
    for (int step = 0; step < 30; ++step) {
      if (random.pick(0, 2) == 0) random.join(reuse);
      if (random.pick(0, 9) == 0) random.leave_any();
      random.generate();
      std::vector<StepSequence> batch = random.batch(/*decode=*/step % 8 > 3);
      if (batch.empty()) continue;
      plan_step(planner, random.tree(), batch, random.pool(), plan);
      ASSERT_NO_FATAL_FAILURE(expect_right(random, batch, plan)) << "step " << step;
      kv::AttentionPlan anew;
      TreePlanner another(policy.shares, options);
      plan_step(another, random.tree(), batch, random.pool(), anew);
      ASSERT_NO_FATAL_FAILURE(expect_equal(plan, anew)) << "step " << step;
      for (const kv::Segment& segment : plan.segments) behind_prefixes += segment.skipped > 0;
      // Now and then a step fails and is planned again.
      if (random.pick(0, 9) != 0) random.computed(batch);
    }
    advanced += planner.plans_advanced();
    built += planner.plans_built();
  }
  EXPECT_GT(advanced, 100);
  EXPECT_GT(built, 100);
  EXPECT_GT(behind_prefixes, 20);
}

INSTANTIATE_TEST_SUITE_P(Positions, RandomPlans, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Odd" : "Plain"; });

// Sequences 1..n with `shared` tokens in common and `own` tokens of their own. All tokens but the
// last are computed.
struct Decoding {
  kv::BlockPool pool;
  PrefixTree tree;
  std::vector<std::vector<int32_t>> tokens, positions;
  std::vector<StepSequence> batch;

  Decoding(int32_t sequences, int32_t shared, int32_t own, int32_t chunk_tokens,
           int32_t most_new_tokens)
      : pool({.layers = 1,
              .kv_heads = 1,
              .head_dim = 1,
              .block_tokens = chunk_tokens,
              .num_blocks = 1000}),
        tree({.chunk_tokens = chunk_tokens}),
        tokens(static_cast<size_t>(sequences)),
        positions(tokens.size()) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      for (int32_t t = 0; t < shared + own; ++t) {
        tokens[i].push_back(t < shared ? 0 : static_cast<int32_t>(i) + 1);
        positions[i].push_back(t);
      }
      const auto id = static_cast<SequenceId>(i) + 1;
      EXPECT_TRUE(tree.insert(id, tree.match(tokens[i], {}), tokens[i], {},
                              shared + own + most_new_tokens, 0, pool));
      tree.mark_computed(id, 0, shared + own - 1);
    }
    compose();
  }
  void compose() {
    batch.clear();
    for (size_t i = 0; i < tokens.size(); ++i)
      batch.push_back({.id = static_cast<RequestId>(i) + 1,
                       .first_row = static_cast<int32_t>(i),
                       .rows = 1,
                       .first_token = static_cast<int32_t>(tokens[i].size()) - 1,
                       .positions = positions[i],
                       .tokens = tokens[i],
                       .length = static_cast<int32_t>(tokens[i].size())});
  }
  void step() {
    for (size_t i = 0; i < tokens.size(); ++i) {
      const auto id = static_cast<SequenceId>(i) + 1;
      tree.mark_computed(id, 0, static_cast<int32_t>(tokens[i].size()));
      positions[i].push_back(static_cast<int32_t>(tokens[i].size()));
      tokens[i].push_back(0);
      EXPECT_TRUE(tree.append(id, 0, positions[i].back(), pool));
    }
    compose();
  }
};

TEST(TreePlanner, SharedChunksAreOneItemAndTheRestOnePerSequence) {
  Decoding decoding(3, 40, 5, 8, 10);
  TreePlanner planner([](const TreeNode& node) { return node.sequences > 1; }, {});
  kv::AttentionPlan plan;
  plan_step(planner, decoding.tree, decoding.batch, decoding.pool, plan);
  ASSERT_EQ(plan.items.size(), 4u);
  EXPECT_EQ(plan.items[0].first_row, 0);
  EXPECT_EQ(plan.items[0].end_row, 3);
  EXPECT_EQ(plan.segments[0].tokens, 40);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(plan.items[i].end_row - plan.items[i].first_row, 1);
    EXPECT_EQ(plan.segments[i].tokens, 5);
  }
}

TEST(TreePlanner, WhatIsNotSharedIsOneItemOverTheWholePath) {
  Decoding decoding(3, 40, 5, 8, 10);
  TreePlanner planner([](const TreeNode&) { return false; }, {});
  kv::AttentionPlan plan;
  plan_step(planner, decoding.tree, decoding.batch, decoding.pool, plan);
  ASSERT_EQ(plan.items.size(), 3u);
  for (const kv::Segment& segment : plan.segments) EXPECT_EQ(segment.tokens, 45);
  EXPECT_EQ(plan.block_offsets[0],
            plan.block_offsets[static_cast<size_t>(plan.segments[1].first_block)]);
}

TEST(TreePlanner, PartitionsEndItems) {
  Decoding decoding(2, 40, 5, 8, 10);
  TreePlanner planner([](const TreeNode& node) { return node.sequences > 1; },
                      {.shared_partition_tokens = 8, .private_partition_tokens = 16});
  kv::AttentionPlan plan;
  plan_step(planner, decoding.tree, decoding.batch, decoding.pool, plan);
  EXPECT_EQ(plan.items.size(), 5u + 2u);
  TreePlanner paged([](const TreeNode&) { return false; }, {.private_partition_tokens = 16});
  plan_step(paged, decoding.tree, decoding.batch, decoding.pool, plan);
  EXPECT_EQ(plan.items.size(), 2u * 3u);
}

// A further token or a further block does not need a new plan; another sequence does.
TEST(TreePlanner, BuildsAgainOnlyWhereTheTreeOrTheBatchChanges) {
  Decoding decoding(3, 40, 5, 8, 30);
  TreePlanner planner([](const TreeNode& node) { return node.sequences > 1; }, {});
  kv::AttentionPlan plan;
  for (int step = 0; step < 25; ++step) {
    plan_step(planner, decoding.tree, decoding.batch, decoding.pool, plan);
    decoding.step();
  }
  EXPECT_EQ(planner.plans_built(), 1);
  EXPECT_EQ(planner.plans_advanced(), 24);
  decoding.batch.pop_back();
  plan_step(planner, decoding.tree, decoding.batch, decoding.pool, plan);
  EXPECT_EQ(planner.plans_built(), 2);
  decoding.step();
  decoding.tree.remove(3, decoding.pool);
  decoding.batch.pop_back();
  plan_step(planner, decoding.tree, decoding.batch, decoding.pool, plan);
  EXPECT_EQ(planner.plans_built(), 3);
}

// A scheduler may give each of two equal prompts one row in each step.
TEST(TreePlanner, OnlyOneRowOfEqualPromptsWritesEachToken) {
  kv::BlockPool pool(
      {.layers = 1, .kv_heads = 1, .head_dim = 1, .block_tokens = 8, .num_blocks = 10});
  PrefixTree tree({.chunk_tokens = 8});
  const std::vector<int32_t> tokens(16, 5);
  std::vector<int32_t> positions(16);
  std::iota(positions.begin(), positions.end(), 0);
  for (SequenceId id : {1, 2})
    ASSERT_TRUE(tree.insert(id, tree.match(tokens, {}), tokens, {}, 16, 0, pool));
  ASSERT_EQ(tree.sequence(1).path, tree.sequence(2).path);
  TreePlanner planner([](const TreeNode& node) { return node.sequences > 1; }, {});
  kv::AttentionPlan plan;
  for (int32_t token = 0; token < 16; ++token) {
    std::vector<StepSequence> batch;
    for (int32_t row : {0, 1})
      batch.push_back({.id = row + 1,
                       .first_row = row,
                       .rows = 1,
                       .first_token = token,
                       .positions = positions,
                       .tokens = tokens,
                       .length = 16});
    plan_step(planner, tree, batch, pool, plan);
    EXPECT_EQ(std::count(plan.row_slots.begin(), plan.row_slots.end(), kv::kNoSlot), 1) << token;
    for (SequenceId id : {1, 2}) tree.mark_computed(id, token, token + 1);
  }
}

TEST(TreePlanner, LeavesAPlanAloneThatIsNotItsLatest) {
  Decoding decoding(2, 16, 5, 8, 30);
  TreePlanner planner([](const TreeNode& node) { return node.sequences > 1; }, {});
  kv::AttentionPlan plan;
  plan_step(planner, decoding.tree, decoding.batch, decoding.pool, plan);
  const kv::AttentionPlan old = plan;
  decoding.step();
  plan_step(planner, decoding.tree, decoding.batch, decoding.pool, plan);
  decoding.step();
  kv::AttentionPlan stale = old;
  plan_step(planner, decoding.tree, decoding.batch, decoding.pool, stale);
  EXPECT_EQ(planner.plans_built(), 2);
}

}  // namespace
}  // namespace reprise::reuse
