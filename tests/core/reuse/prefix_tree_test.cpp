#include "core/reuse/prefix_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "core/base/error.h"
#include "tests/core/reuse/counting.h"

namespace reprise::reuse {
namespace {

using Tokens = std::vector<int32_t>;

kv::BlockPool pool_of(int32_t blocks, int32_t block_tokens) {
  return kv::BlockPool({.layers = 1,
                        .kv_heads = 1,
                        .head_dim = 1,
                        .block_tokens = block_tokens,
                        .num_blocks = blocks});
}

// Adds a sequence with the match that match() finds.
PrefixMatch join(PrefixTree& tree, kv::BlockPool& pool, SequenceId id, const Tokens& tokens,
                 int32_t most_tokens = 0, const Tokens& positions = {}) {
  const PrefixMatch match = tree.match(tokens, positions);
  EXPECT_TRUE(tree.insert(id, match, tokens, positions,
                          std::max(most_tokens, static_cast<int32_t>(tokens.size())), 0, pool));
  return match;
}

// The expected content of the tree, as a plain list.
struct Model {
  struct Sequence {
    Tokens tokens, positions;
    int32_t most_tokens = 0;
  };
  std::map<SequenceId, Sequence> sequences;

  // Tokens of whole chunks that a new sequence has in common with an existing one.
  [[nodiscard]] int32_t longest_match(const Tokens& tokens, const Tokens& positions,
                                      int32_t chunk_tokens) const {
    int32_t longest = 0;
    for (const auto& [id, other] : sequences) {
      size_t equal = 0;
      while (equal < std::min(tokens.size(), other.tokens.size()) &&
             tokens[equal] == other.tokens[equal] && positions[equal] == other.positions[equal])
        ++equal;
      longest = std::max(longest, static_cast<int32_t>(equal) / chunk_tokens * chunk_tokens);
    }
    return longest;
  }
};

void expect_consistent(const PrefixTree& tree, const Model& model, const kv::BlockPool& pool) {
  const int32_t chunk_tokens = tree.options().chunk_tokens;
  ASSERT_EQ(tree.size(), model.sequences.size());
  std::map<int32_t, int32_t> users;  // number of users of each chunk
  std::map<int64_t, SequenceId> by_rank;
  for (const auto& [id, want] : model.sequences) {
    const TreeSequence& sequence = tree.sequence(id);
    ASSERT_TRUE(by_rank.emplace(sequence.rank, id).second) << "two of rank " << sequence.rank;
    ASSERT_EQ(sequence.tokens, static_cast<int32_t>(want.tokens.size()));
    Tokens tokens, positions;
    for (size_t k = 0; k < sequence.path.size(); ++k) {
      const Chunk& chunk = tree.chunk(sequence.path[k]);
      ASSERT_EQ(chunk.parent, k == 0 ? -1 : sequence.path[k - 1]);
      ASSERT_EQ(chunk.first_token, static_cast<int32_t>(tokens.size()));
      ASSERT_EQ(sequence.chunk_of(chunk.first_token, chunk_tokens), static_cast<int32_t>(k));
      tokens.insert(tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
      positions.insert(positions.end(), chunk.positions.begin(), chunk.positions.end());
      ++users[sequence.path[k]];
      // Tokens are appended to the last chunk, so a chunk that is not full is the last one and has
      // only one user.
      if (chunk.filled() < chunk_tokens) {
        ASSERT_EQ(chunk.users, 1);
        ASSERT_EQ(k + 1, sequence.path.size());
      }
    }
    ASSERT_EQ(tokens, want.tokens);
    ASSERT_EQ(positions, want.positions);
  }
  std::set<int32_t> blocks;
  int64_t shared = 0;
  for (const auto& [index, count] : users) {
    ASSERT_EQ(tree.chunk(index).users, count);
    ASSERT_TRUE(blocks.insert(tree.chunk(index).block).second) << "a block in two chunks";
    shared += int64_t{count - 1} * tree.chunk(index).filled();
  }
  ASSERT_EQ(tree.shared_tokens(), shared);
  ASSERT_EQ(pool.used_blocks(), static_cast<int32_t>(users.size()) + tree.unused_chunks());
  // In the order of ranks, the sequences of a chunk are neighbours: a chunk that was left does not
  // come again.
  std::set<int32_t> left;
  std::vector<int32_t> before;
  for (const auto& [rank, id] : by_rank) {
    const std::vector<int32_t>& path = tree.sequence(id).path;
    for (int32_t chunk : path) ASSERT_FALSE(left.contains(chunk)) << "chunk " << chunk;
    for (int32_t chunk : before)
      if (std::find(path.begin(), path.end(), chunk) == path.end()) left.insert(chunk);
    before = path;
  }
}

struct Case {
  bool retain;
  bool odd_positions;
};

class RandomTrees : public ::testing::TestWithParam<Case> {};

// Any order of joining, appending and leaving, any chunk size.
TEST_P(RandomTrees, HoldEverySequenceOnceSideBySideAndLeakNothing) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto pick = [&](int32_t low, int32_t high) {
      return std::uniform_int_distribution<int32_t>(low, high)(random);
    };
    const int32_t chunk_tokens = pick(0, 3) == 0 ? 16 : pick(1, 7);
    kv::BlockPool pool = pool_of(pick(10, 120), chunk_tokens);
    PrefixTree tree({.chunk_tokens = chunk_tokens, .retain = GetParam().retain});
    Model model;
    SequenceId next_id = 1;
    for (int operation = 0; operation < 120; ++operation) {
      const int32_t kind = pick(0, 9);
      if (kind < 4 || model.sequences.empty()) {
        // Only two different tokens, so that prompts have much in common.
        Model::Sequence sequence;
        const int32_t tokens = pick(1, 6 * chunk_tokens), odd_at = pick(0, 2 * tokens);
        for (int32_t i = 0; i < tokens; ++i) {
          sequence.tokens.push_back(pick(0, 12) == 0 ? 1 : 0);
          sequence.positions.push_back(GetParam().odd_positions && i >= odd_at ? i + 5 : i);
        }
        sequence.most_tokens = tokens + pick(0, 3 * chunk_tokens);
        const PrefixMatch match = tree.match(sequence.tokens, sequence.positions);
        const int32_t longest =
            model.longest_match(sequence.tokens, sequence.positions, chunk_tokens);
        if (GetParam().retain)
          ASSERT_GE(match.tokens, longest);
        else
          ASSERT_EQ(match.tokens, longest);
        const uint64_t version = tree.version();
        const int32_t available = pool.free_blocks() + tree.unused_chunks();
        const bool is_in = tree.insert(next_id, match, sequence.tokens, sequence.positions,
                                       sequence.most_tokens, 0, pool);
        if (is_in) {
          ASSERT_NE(tree.version(), version);
          if (pick(0, 1) == 0) tree.mark_computed(next_id, 0, tokens);
          model.sequences.emplace(next_id++, std::move(sequence));
        } else {
          ASSERT_EQ(tree.version(), version);
          ASSERT_GT((tokens + chunk_tokens - 1) / chunk_tokens,
                    available - static_cast<int32_t>(match.chunks.size()));
        }
      } else {
        auto entry = model.sequences.begin();
        std::advance(entry, pick(0, static_cast<int32_t>(model.sequences.size()) - 1));
        if (kind < 8) {
          Model::Sequence& sequence = entry->second;
          for (int32_t i = pick(1, 2 * chunk_tokens); i > 0; --i) {
            const auto tokens = static_cast<int32_t>(sequence.tokens.size());
            if (tokens == sequence.most_tokens) break;
            const int32_t position = sequence.positions.back() + 1;
            // Several sequences come to generate equal chunks, and each keeps its own.
            const int32_t token = pick(0, 12) == 0 ? 1 : 0;
            if (!tree.append(entry->first, token, position, pool)) {
              ASSERT_EQ(tokens % chunk_tokens, 0) << "inside a chunk no block is needed";
              ASSERT_EQ(pool.free_blocks() + tree.unused_chunks(), 0);
              break;
            }
            tree.mark_computed(entry->first, tokens, tokens + 1);
            sequence.tokens.push_back(token);
            sequence.positions.push_back(position);
          }
        } else {
          tree.remove(entry->first, pool);
          model.sequences.erase(entry);
        }
      }
      ASSERT_NO_FATAL_FAILURE(expect_consistent(tree, model, pool)) << "operation " << operation;
    }
    while (!model.sequences.empty()) {
      tree.remove(model.sequences.begin()->first, pool);
      model.sequences.erase(model.sequences.begin());
    }
    ASSERT_NO_FATAL_FAILURE(expect_consistent(tree, model, pool));
    if (!GetParam().retain) {
      ASSERT_EQ(pool.used_blocks(), 0);
    }
    // All retained chunks can be evicted to make room.
    std::vector<int32_t> taken;
    for (int32_t block; (block = tree.take_block(pool)) >= 0;) taken.push_back(block);
    ASSERT_EQ(static_cast<int32_t>(taken.size()), pool.options().num_blocks);
    ASSERT_EQ(tree.unused_chunks(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Options, RandomTrees,
                         ::testing::Values(Case{false, false}, Case{true, false}, Case{false, true},
                                           Case{true, true}));

TEST(PrefixTree, WholeChunksMatchAndTheRestIsPrivate) {
  kv::BlockPool pool = pool_of(20, 4);
  PrefixTree tree({.chunk_tokens = 4});
  EXPECT_EQ(join(tree, pool, 1, counting(0, 10)).tokens, 0);
  // The sequence has 10 of these 11 tokens: floor(10 / 4) * 4 match.
  EXPECT_EQ(tree.match(counting(0, 11), {}).tokens, 8);
  Tokens parted = counting(0, 10);
  parted[5] = 99;
  EXPECT_EQ(tree.match(parted, {}).tokens, 4);
  // A prompt that is a whole number of chunks matches whole. The tokens appended to it get a chunk
  // of their own.
  EXPECT_EQ(join(tree, pool, 2, counting(0, 8), 10).tokens, 8);
  EXPECT_TRUE(tree.append(2, 8, 8, pool));
  EXPECT_NE(tree.sequence(1).path[2], tree.sequence(2).path[2]);
  EXPECT_EQ(tree.shared_tokens(), 8);
}

TEST(PrefixTree, GeneratedTokensAreFoundOnceTheirChunkIsFull) {
  kv::BlockPool pool = pool_of(20, 4);
  PrefixTree tree({.chunk_tokens = 4});
  join(tree, pool, 1, counting(0, 6), 20);
  EXPECT_EQ(tree.match(counting(0, 8), {}).tokens, 4);
  EXPECT_TRUE(tree.append(1, 6, 6, pool));
  EXPECT_TRUE(tree.append(1, 7, 7, pool));
  EXPECT_EQ(tree.match(counting(0, 8), {}).tokens, 8);
}

// If several sequences generated equal chunks, the chunks of the sequences that remain can still be
// found.
TEST(PrefixTree, EqualChunksStayFindableWhenOneOfThemLeaves) {
  kv::BlockPool pool = pool_of(20, 2);
  PrefixTree tree({.chunk_tokens = 2});
  for (SequenceId id : {1, 2, 3}) {
    join(tree, pool, id, {1, 2}, 8);
    for (int32_t token : {3, 4}) EXPECT_TRUE(tree.append(id, token, token - 1, pool));
  }
  EXPECT_EQ(pool.used_blocks(), 1 + 3);
  const Tokens prompt = {1, 2, 3, 4};
  EXPECT_EQ(join(tree, pool, 4, prompt).tokens, 4);
  for (SequenceId id : {1, 4}) tree.remove(id, pool);
  EXPECT_EQ(tree.match(prompt, {}).tokens, 4) << "2 and 3 hold it";
  tree.remove(2, pool);
  EXPECT_EQ(tree.match(prompt, {}).tokens, 4);
  tree.remove(3, pool);
  EXPECT_EQ(tree.match(prompt, {}).tokens, 0);
  EXPECT_EQ(pool.used_blocks(), 0);
}

TEST(PrefixTree, WhatFollowsAnyOfEqualChunksIsFoundAndTheComputedOneTaken) {
  kv::BlockPool pool = pool_of(20, 2);
  PrefixTree tree({.chunk_tokens = 2});
  for (SequenceId id : {1, 2, 3}) {
    join(tree, pool, id, {1}, 8);
    for (int32_t token : {2, id == 1 ? 9 : 3, 4})
      EXPECT_TRUE(tree.append(id, token, tree.sequence(id).tokens, pool));
  }
  const Tokens prompt = {1, 2, 3, 4};
  EXPECT_EQ(tree.match(prompt, {}).tokens, 4) << "behind two of the three [1, 2]";
  for (SequenceId id : {2, 3}) {
    tree.mark_computed(id, 0, id == 2 ? 3 : 4);
    EXPECT_EQ(tree.match(prompt, {}).chunks, tree.sequence(id).path);
    EXPECT_EQ(tree.match(prompt, {}).computed, id == 2 ? 3 : 4);
  }
}

// The cases of microsoft/chunk-attention's own tests, c = 2.
class PublishedCases : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<SequenceId> leaves(const std::vector<SequenceId>& ids) const {
    std::map<int64_t, SequenceId> by_rank;
    for (SequenceId id : ids) by_rank[tree_.sequence(id).rank] = id;
    std::vector<SequenceId> order;
    for (const auto& [rank, id] : by_rank) order.push_back(id);
    return order;
  }
  [[nodiscard]] std::vector<Tokens> chunks_of(SequenceId id) const {
    std::vector<Tokens> chunks;
    for (int32_t index : tree_.sequence(id).path) chunks.push_back(tree_.chunk(index).tokens);
    return chunks;
  }
  kv::BlockPool pool_ = pool_of(40, 2);
  PrefixTree tree_{{.chunk_tokens = 2}};
};

TEST_F(PublishedCases, LeavesStandSideBySideWhereTheirPrefixesMeet) {
  const std::vector<Tokens> prompts = {{1, 2, 3, 4, 5}, {1, 2, 3, 4, 6}, {1, 2, 3, 4},
                                       {1, 7},          {1, 2},          {1, 2, 3, 4, 5}};
  std::vector<SequenceId> ids;
  for (const Tokens& prompt : prompts) {
    ids.push_back(std::ssize(ids) + 1);
    join(tree_, pool_, ids.back(), prompt);
    EXPECT_EQ(tree_.size(), ids.size());
  }
  EXPECT_EQ(leaves(ids), (std::vector<SequenceId>{1, 2, 3, 6, 5, 4}));
  EXPECT_EQ(tree_.chunk(tree_.sequence(1).path[0]).users, 5) << "all but [1, 7]";
  EXPECT_EQ(tree_.chunk(tree_.sequence(1).path[1]).users, 4);
  EXPECT_EQ(chunks_of(6), chunks_of(1));
  EXPECT_NE(tree_.sequence(6).path.back(), tree_.sequence(1).path.back()) << "a tail of its own";
  for (SequenceId id : ids) tree_.remove(id, pool_);
  EXPECT_EQ(pool_.used_blocks(), 0);
}

TEST_F(PublishedCases, AppendingFillsOneTailAndOpensAChunkForTheOther) {
  join(tree_, pool_, 1, {1, 2, 3, 4, 5}, 6);
  join(tree_, pool_, 2, {1, 2, 3, 4, 6, 7}, 8);
  EXPECT_TRUE(tree_.append(1, 8, 5, pool_));
  EXPECT_TRUE(tree_.append(2, 9, 6, pool_));
  EXPECT_EQ(chunks_of(1), (std::vector<Tokens>{{1, 2}, {3, 4}, {5, 8}}));
  const std::vector<Tokens> second = {{1, 2}, {3, 4}, {6, 7}, {9}};
  EXPECT_EQ(chunks_of(2), second);
  tree_.remove(1, pool_);
  EXPECT_EQ(chunks_of(2), second);
  EXPECT_EQ(pool_.used_blocks(), 4);
}

TEST(PrefixTree, MatchSaysHowMuchIsComputed) {
  kv::BlockPool pool = pool_of(20, 4);
  PrefixTree tree({.chunk_tokens = 4});
  join(tree, pool, 1, counting(0, 13));
  EXPECT_EQ(tree.match(counting(0, 12), {}).computed, 0);
  tree.mark_computed(1, 0, 6);
  EXPECT_EQ(tree.match(counting(0, 12), {}).computed, 6);
  tree.mark_computed(1, 6, 13);
  EXPECT_EQ(tree.match(counting(0, 12), {}).computed, 12);
}

TEST(PrefixTree, OtherPositionsAreAnotherPrefix) {
  kv::BlockPool pool = pool_of(20, 4);
  PrefixTree tree({.chunk_tokens = 4});
  join(tree, pool, 1, counting(0, 8), 0, counting(10, 8));
  EXPECT_EQ(tree.match(counting(0, 8), {}).tokens, 0);
  EXPECT_EQ(tree.match(counting(0, 8), counting(0, 8)).tokens, 0);
  EXPECT_EQ(tree.match(counting(0, 8), counting(10, 8)).tokens, 8);
}

TEST(PrefixTree, RefusesWhatThePoolHasNoBlocksFor) {
  kv::BlockPool pool = pool_of(5, 4);
  PrefixTree tree({.chunk_tokens = 4});
  join(tree, pool, 1, counting(0, 4), 12);
  EXPECT_EQ(pool.used_blocks(), 1);
  EXPECT_FALSE(tree.insert(2, {}, counting(50, 17), {}, 17, 0, pool));
  EXPECT_FALSE(tree.insert(2, {}, counting(50, 5), {}, 5, 3, pool));
  EXPECT_EQ(pool.used_blocks(), 1);
  EXPECT_TRUE(tree.insert(2, {}, counting(50, 5), {}, 12, 2, pool));
  for (int32_t token = 4; token < 12; ++token) EXPECT_TRUE(tree.append(1, token, token, pool));
  for (int32_t token = 5; token < 8; ++token) EXPECT_TRUE(tree.append(2, token, token, pool));
  EXPECT_EQ(pool.free_blocks(), 0);
  EXPECT_FALSE(tree.append(2, 8, 8, pool));
  EXPECT_EQ(tree.sequence(2).tokens, 8);
  tree.remove(1, pool);
  EXPECT_TRUE(tree.append(2, 8, 8, pool));
}

TEST(PrefixTree, LongestUnusedIsEvictedFirstAndAChildBeforeItsParent) {
  kv::BlockPool pool = pool_of(4, 4);
  PrefixTree tree({.chunk_tokens = 4, .retain = true});
  for (SequenceId id : {1, 2}) {
    const Tokens prompt = counting(static_cast<int32_t>(id) * 100, 8);
    join(tree, pool, id, prompt);
    tree.mark_computed(id, 0, 8);
  }
  tree.remove(2, pool);
  tree.remove(1, pool);
  EXPECT_EQ(tree.unused_chunks(), 4);
  EXPECT_EQ(pool.used_blocks(), 4);
  const auto retained = [&](int32_t first) { return tree.match(counting(first, 8), {}).tokens; };
  EXPECT_EQ(retained(100), 8);
  EXPECT_EQ(retained(200), 8);
  join(tree, pool, 3, counting(900, 3));
  EXPECT_EQ(retained(200), 4);
  EXPECT_EQ(retained(100), 8);
  // Sequence 4 uses 200's first chunk, which is then no longer the least recently used, and which
  // is not evicted to make room for sequence 4.
  EXPECT_EQ(join(tree, pool, 4, counting(200, 8)).tokens, 4);
  EXPECT_EQ(retained(100), 4);
  tree.remove(4, pool);
  EXPECT_EQ(retained(200), 4) << "its second chunk was not computed";
}

TEST(PrefixTree, WithoutRetentionNothingOutlivesItsUsers) {
  kv::BlockPool pool = pool_of(4, 4);
  PrefixTree tree({.chunk_tokens = 4});
  join(tree, pool, 1, counting(0, 8));
  tree.mark_computed(1, 0, 8);
  tree.remove(1, pool);
  EXPECT_EQ(tree.match(counting(0, 8), {}).tokens, 0);
  EXPECT_EQ(pool.used_blocks(), 0);
}

TEST(PrefixTree, PinnedPrefixesOfAnyLengthAreFoundTheLongestFirst) {
  kv::BlockPool pool = pool_of(20, 4);
  PrefixTree tree({.chunk_tokens = 4, .matching = Matching::kPinned});
  for (int32_t tokens : {5, 9}) {
    ASSERT_TRUE(tree.insert(-tokens, {}, counting(0, tokens), {}, tokens, 0, pool));
    tree.mark_computed(-tokens, 0, tokens);
    tree.pin(-tokens, pool);
  }
  EXPECT_TRUE(tree.is_pinned(-5));
  EXPECT_FALSE(tree.is_pinned(-6));
  EXPECT_EQ(pool.used_blocks(), 2 + 3);
  EXPECT_EQ(tree.match(counting(0, 4), {}).tokens, 0);
  EXPECT_EQ(tree.match(counting(0, 8), {}).tokens, 5);
  EXPECT_EQ(tree.match(counting(0, 9), {}).tokens, 9);
  EXPECT_EQ(tree.match(counting(0, 9), counting(1, 9)).tokens, 0);
  for (SequenceId id : {1, 2}) {
    const PrefixMatch match = join(tree, pool, id, counting(0, 7), 10);
    EXPECT_EQ(match.computed, 5);
    const TreeSequence& sequence = tree.sequence(id);
    EXPECT_EQ(sequence.pinned_chunks, 2);
    EXPECT_EQ(tree.chunk(sequence.path[2]).first_token, 5);
    EXPECT_EQ(sequence.chunk_of(4, 4), 1);
    EXPECT_EQ(sequence.chunk_of(5, 4), 2);
    EXPECT_EQ(sequence.chunk_of(9, 4), 3);
  }
  EXPECT_EQ(tree.shared_tokens(), 5);
  tree.unpin(-9, pool);
  EXPECT_EQ(pool.used_blocks(), 2 + 2) << "the shorter one and two private chunks";
  EXPECT_EQ(tree.match(counting(0, 9), {}).tokens, 5);
  tree.unpin(-5, pool);
  EXPECT_EQ(tree.match(counting(0, 9), {}).tokens, 0) << "no longer a prefix";
  EXPECT_EQ(tree.sequence(2).pinned_tokens, 5) << "but in use";
  tree.remove(1, pool);
  EXPECT_EQ(pool.used_blocks(), 2 + 1);
  tree.remove(2, pool);
  EXPECT_EQ(pool.used_blocks(), 0);
}

TEST(PrefixTree, PrefixesThatShareChunksAreDroppedOneByOne) {
  kv::BlockPool pool = pool_of(20, 4);
  PrefixTree tree({.chunk_tokens = 4, .matching = Matching::kPinnedAndChunks});
  for (int32_t tokens : {6, 10}) {
    const Tokens prefix = counting(0, tokens);
    ASSERT_TRUE(tree.insert(-tokens, tree.match_to_pin(prefix, {}), prefix, {}, tokens, 0, pool));
    tree.mark_computed(-tokens, 0, tokens);
    tree.pin(-tokens, pool);
  }
  EXPECT_EQ(pool.used_blocks(), 1 + 1 + 2) << "one whole chunk is common";
  tree.unpin(-6, pool);
  EXPECT_EQ(pool.used_blocks(), 3);
  EXPECT_EQ(tree.match(counting(0, 12), {}).tokens, 10);
  tree.unpin(-10, pool);
  EXPECT_EQ(pool.used_blocks(), 0);
}

// A prefix of 6 tokens ends within its second chunk of 4. Retained chunks that follow this partly
// filled chunk can be found only through the prefix, so they are freed with it.
TEST(PrefixTree, DroppingAPrefixFreesWhatNobodyCouldFindBehindIt) {
  for (const bool is_used : {false, true}) {
    kv::BlockPool pool = pool_of(40, 4);
    PrefixTree tree({.chunk_tokens = 4, .matching = Matching::kPinnedAndChunks, .retain = true});
    ASSERT_TRUE(tree.insert(-1, {}, counting(0, 6), {}, 6, 0, pool));
    tree.mark_computed(-1, 0, 6);
    tree.pin(-1, pool);
    for (SequenceId id : {1, 2}) {
      join(tree, pool, id, counting(0, id == 1 ? 15 : 7));
      tree.mark_computed(id, 0, id == 1 ? 15 : 7);
    }
    tree.remove(1, pool);
    EXPECT_EQ(tree.unused_chunks(), 2);
    if (!is_used) tree.remove(2, pool);
    tree.unpin(-1, pool);
    if (is_used) tree.remove(2, pool);
    EXPECT_EQ(tree.unused_chunks(), 1) << "the whole chunk of the prefix";
    EXPECT_EQ(pool.used_blocks(), 1);
    EXPECT_EQ(tree.match(counting(0, 15), {}).tokens, 4);
  }
}

TEST(PrefixTree, ChunksAreFoundBehindPinnedPrefixesToo) {
  kv::BlockPool pool = pool_of(40, 4);
  PrefixTree tree({.chunk_tokens = 4, .matching = Matching::kPinnedAndChunks, .retain = true});
  ASSERT_TRUE(tree.insert(-1, {}, counting(0, 6), {}, 6, 0, pool));
  tree.mark_computed(-1, 0, 6);
  tree.pin(-1, pool);
  EXPECT_EQ(tree.match_to_pin(counting(0, 9), {}).tokens, 4) << "whole chunks only";
  EXPECT_EQ(join(tree, pool, 1, counting(0, 15)).tokens, 6);
  tree.mark_computed(1, 0, 15);
  const PrefixMatch match = join(tree, pool, 2, counting(0, 13));
  EXPECT_EQ(match.tokens, 10);
  EXPECT_EQ(match.pinned_tokens, 6);
  EXPECT_EQ(match.pinned_chunks, 2);
  EXPECT_EQ(tree.sequence(2).chunk_of(10, 4), 3);
  // Without the prefix, chunks of any sequence are found, and the longest match wins.
  EXPECT_EQ(join(tree, pool, 3, counting(50, 9)).tokens, 0);
  EXPECT_EQ(tree.match(counting(50, 9), {}).tokens, 8);
  EXPECT_EQ(tree.match(counting(0, 5), {}).tokens, 4);
  EXPECT_EQ(tree.match(counting(0, 5), {}).pinned_tokens, 0);
  for (SequenceId id : {1, 2, 3}) tree.remove(id, pool);
  EXPECT_EQ(tree.match(counting(0, 15), {}).tokens, 14) << "retained behind the prefix";
  EXPECT_EQ(pool.used_blocks(), 2 + 2);
}

// The gap between two ranks can be halved only some thirty times. After more insertions than that,
// the order must still hold.
TEST(PrefixTree, OrderSurvivesManyInsertionsAtOnePlace) {
  kv::BlockPool pool = pool_of(2000, 2);
  PrefixTree tree({.chunk_tokens = 2});
  join(tree, pool, 1, {7, 7, 1});
  join(tree, pool, 2, {8, 8, 1});
  for (SequenceId id = 3; id < 300; ++id) join(tree, pool, id, {7, 7, static_cast<int32_t>(id)});
  int64_t rank = tree.sequence(1).rank;
  for (SequenceId id = 3; id < 300; ++id) {
    EXPECT_LT(rank, tree.sequence(id).rank);
    rank = tree.sequence(id).rank;
  }
  EXPECT_LT(rank, tree.sequence(2).rank);
}

TEST(PrefixTree, ChunksHoldAtLeastOneToken) {
  EXPECT_THROW(PrefixTree({.chunk_tokens = 0}), Error);
}

}  // namespace
}  // namespace reprise::reuse
