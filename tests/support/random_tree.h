// Random sequences of a prefix tree, stepped as an engine would, for tests of plans.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "core/reuse/plan_builder.h"
#include "core/reuse/prefix_tree.h"
#include "core/reuse/sequence_cache.h"
#include "core/reuse/tree_plan.h"

namespace reprise::testing {

inline int32_t length_of(const std::vector<int32_t>& positions) {
  return *std::max_element(positions.begin(), positions.end()) + 1;
}

// A tree whose sequences join, step, grow and leave at random. All tokens of a batch that batch()
// returns are in the tree.
class RandomTree {
 public:
  struct Sequence {
    std::vector<int32_t> tokens, positions;
    int32_t most_tokens = 0, computed = 0;
  };

  RandomTree(uint64_t seed, int32_t chunk_tokens, int32_t num_blocks, kv::BlockPoolOptions shape,
             bool odd_positions)
      : random_(seed),
        odd_positions_(odd_positions),
        pool_((shape.block_tokens = chunk_tokens, shape.num_blocks = num_blocks, shape)),
        tree_({.chunk_tokens = chunk_tokens, .matching = reuse::Matching::kPinnedAndChunks}) {}

  [[nodiscard]] int32_t pick(int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random_);
  }
  [[nodiscard]] reuse::PrefixTree& tree() { return tree_; }
  [[nodiscard]] kv::BlockPool& pool() { return pool_; }
  [[nodiscard]] const std::map<reuse::SequenceId, Sequence>& sequences() const {
    return sequences_;
  }

  // Adds a sequence of mostly equal token ids, so that many tokens are shared. With `reuse`, tokens
  // found in the tree count as computed.
  void join(bool reuse) {
    const int32_t chunk_tokens = tree_.options().chunk_tokens;
    Sequence sequence = random_sequence(pick(1, 5 * chunk_tokens), odd_positions_);
    const auto tokens = static_cast<int32_t>(sequence.tokens.size());
    sequence.most_tokens = tokens + pick(0, 3 * chunk_tokens);
    const reuse::PrefixMatch match = tree_.match(sequence.tokens, sequence.positions);
    if (reuse) sequence.computed = std::min(match.computed, tokens - 1);
    insert(std::move(sequence), match);
  }

  // Adds a sequence that becomes a pinned prefix when it is computed.
  void declare() {
    const int32_t chunk_tokens = tree_.options().chunk_tokens;
    const int32_t tokens = chunk_tokens > 8 && pick(0, 1) == 0
                               ? chunk_tokens - 8 * pick(1, (chunk_tokens - 1) / 8)
                               : pick(1, 2 * chunk_tokens);
    Sequence sequence = random_sequence(tokens, false);
    const reuse::PrefixMatch match = tree_.match_to_pin(sequence.tokens, sequence.positions);
    to_pin_.insert(next_id_);
    insert(std::move(sequence), match);
  }

  void leave(reuse::SequenceId id) {
    to_pin_.erase(id);
    tree_.remove(id, pool_);
    sequences_.erase(id);
  }

  void leave_any() {
    if (sequences_.empty()) return;
    auto entry = sequences_.begin();
    std::advance(entry, pick(0, static_cast<int32_t>(sequences_.size()) - 1));
    leave(entry->first);
  }

  // Appends one token to every sequence whose tokens are all computed and that may grow.
  void generate() {
    for (auto& [id, sequence] : sequences_) {
      const auto tokens = static_cast<int32_t>(sequence.tokens.size());
      if (sequence.computed < tokens || tokens == sequence.most_tokens) continue;
      const int32_t token = pick(0, 1), position = sequence.positions.back() + 1;
      if (!tree_.append(id, token, position, pool_)) continue;
      sequence.tokens.push_back(token);
      sequence.positions.push_back(position);
    }
  }

  // Returns a step of some sequences; with `decode`, of all that have one token to compute.
  [[nodiscard]] std::vector<reuse::StepSequence> batch(bool decode) {
    std::map<int64_t, reuse::SequenceId> by_rank;
    for (const auto& [id, sequence] : sequences_) by_rank[tree_.sequence(id).rank] = id;
    std::vector<reuse::StepSequence> parts;
    int32_t rows = 0;
    for (const auto& [rank, id] : by_rank) {
      const Sequence& sequence = sequences_.at(id);
      const int32_t pending = static_cast<int32_t>(sequence.tokens.size()) - sequence.computed;
      if (pending == 0 || (decode ? pending != 1 : pick(0, 3) == 0)) continue;
      const int32_t mine = pick(0, 1) == 0 ? pending : pick(1, pending);
      parts.push_back({.id = id,
                       .first_row = rows,
                       .rows = mine,
                       .first_token = sequence.computed,
                       .positions = sequence.positions,
                       .tokens = sequence.tokens,
                       .length = length_of(sequence.positions)});
      rows += mine;
    }
    return parts;
  }

  void computed(const std::vector<reuse::StepSequence>& batch) {
    for (const reuse::StepSequence& part : batch) {
      Sequence& sequence = sequences_.at(part.id);
      sequence.computed += part.rows;
      tree_.mark_computed(part.id, part.first_token, part.first_token + part.rows);
      if (sequence.computed < sequence.most_tokens || to_pin_.erase(part.id) == 0) continue;
      tree_.pin(part.id, pool_);
      sequences_.erase(part.id);
    }
  }

 private:
  [[nodiscard]] Sequence random_sequence(int32_t tokens, bool odd_positions) {
    Sequence sequence;
    const int32_t odd_at = pick(0, 2 * tokens);
    for (int32_t i = 0; i < tokens; ++i) {
      sequence.tokens.push_back(pick(0, 2 * tree_.options().chunk_tokens) == 0 ? 1 : 0);
      sequence.positions.push_back(odd_positions && i >= odd_at ? i + 3 : i);
    }
    sequence.most_tokens = tokens;
    return sequence;
  }
  void insert(Sequence sequence, const reuse::PrefixMatch& match) {
    if (tree_.insert(next_id_, match, sequence.tokens, sequence.positions, sequence.most_tokens, 0,
                     pool_))
      sequences_.emplace(next_id_, std::move(sequence));
    ++next_id_;
  }

  std::mt19937_64 random_;
  bool odd_positions_;
  kv::BlockPool pool_;
  reuse::PrefixTree tree_;
  std::map<reuse::SequenceId, Sequence> sequences_;
  std::set<reuse::SequenceId> to_pin_;
  reuse::SequenceId next_id_ = 1;
};

// Plans a step as reuse::write_plan() does for a method.
inline void plan_step(reuse::TreePlanner& planner, const reuse::PrefixTree& tree,
                      reuse::StepBatch batch, const kv::BlockPool& pool, kv::AttentionPlan& plan) {
  if (planner.advance(tree, batch, pool, plan)) return;
  plan.begin(pool.view());
  for (const reuse::StepSequence& part : batch) reuse::append_rows(part, plan);
  planner.write(tree, batch, pool, plan);
  plan.finish();
}

}  // namespace reprise::testing
