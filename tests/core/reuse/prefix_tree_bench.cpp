// Times the prefix tree and its plans in the scheduler: joining, leaving and growing for different
// numbers of new tokens, and plans of a decoding batch.
//
//   prefix_tree_bench --benchmark_filter=Plan
#include <benchmark/benchmark.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/reuse/prefix_tree_cache.h"
#include "core/reuse/tree_plan.h"
#include "tests/support/random_tree.h"

namespace reprise::reuse {
namespace {

constexpr int32_t kChunkTokens = 64;

using testing::plan_step;
using Tokens = std::vector<int32_t>;

Tokens prompt_of(int32_t shared_tokens, int32_t own_tokens, int32_t mark) {
  Tokens tokens(static_cast<size_t>(shared_tokens), 7);
  tokens.resize(static_cast<size_t>(shared_tokens + own_tokens), mark);
  return tokens;
}

// Decoding sequences that share `shared_tokens` tokens and have `own_tokens` tokens each.
class Decoding {
 public:
  Decoding(int32_t sequences, int32_t shared_tokens, int32_t own_tokens, int32_t most_new_tokens)
      : pool_({.layers = 1,
               .kv_heads = 1,
               .head_dim = 1,
               .block_tokens = kChunkTokens,
               .num_blocks =
                   (shared_tokens + sequences * (own_tokens + most_new_tokens)) / kChunkTokens +
                   2 * sequences + 4096}),
        tree_({.chunk_tokens = kChunkTokens}) {
    for (int32_t i = 0; i < sequences; ++i) {
      const Tokens tokens = prompt_of(shared_tokens, own_tokens + i % kChunkTokens, 100 + i);
      join(i, tokens, static_cast<int32_t>(tokens.size()) + most_new_tokens);
      Tokens positions;
      for (size_t t = 0; t < tokens.size() + static_cast<size_t>(most_new_tokens); ++t)
        positions.push_back(static_cast<int32_t>(t));
      positions_.push_back(std::move(positions));
      tokens_.push_back(static_cast<int32_t>(tokens.size()));
      tree_.mark_computed(i, 0, tokens_.back() - 1);
    }
    compose();
  }

  void join(SequenceId id, const Tokens& tokens, int32_t most_tokens) {
    const bool is_in = tree_.insert(id, tree_.match(tokens, {}), tokens, {}, most_tokens, 0, pool_);
    REPRISE_CHECK(is_in);
  }
  // Gives every sequence one more token. Returns false if a sequence may not grow any further.
  bool grow() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const auto id = static_cast<SequenceId>(i);
      if (tokens_[i] == tree_.sequence(id).most_tokens) return false;
      tree_.mark_computed(id, tokens_[i] - 1, tokens_[i]);
      REPRISE_CHECK(tree_.append(id, 5, tokens_[i], pool_));
      ++tokens_[i];
    }
    compose();
    return true;
  }
  void compose() {
    batch_.clear();
    for (size_t i = 0; i < tokens_.size(); ++i)
      batch_.push_back({.id = static_cast<RequestId>(i),
                        .first_row = static_cast<int32_t>(i),
                        .rows = 1,
                        .first_token = tokens_[i] - 1,
                        .positions = positions_[i],
                        .length = tokens_[i]});
  }

  [[nodiscard]] PrefixTree& tree() { return tree_; }
  [[nodiscard]] kv::BlockPool& pool() { return pool_; }
  [[nodiscard]] StepBatch batch() const { return batch_; }

 private:
  kv::BlockPool pool_;
  PrefixTree tree_;
  std::vector<Tokens> positions_;
  Tokens tokens_;  // tokens of each sequence
  std::vector<StepSequence> batch_;
};

ShareDecision more_than_one() {
  return [](const TreeNode& node) { return node.sequences > 1; };
}

// A prompt of `shared` matched and `own` new tokens joins a batch of 256 and leaves.
void JoinAndLeave(benchmark::State& state) {
  const auto shared = static_cast<int32_t>(state.range(0)),
             own = static_cast<int32_t>(state.range(1));
  Decoding decoding(256, std::max(shared, kChunkTokens), 64, 64);
  const Tokens tokens = prompt_of(shared, own, 9);
  for (auto _ : state) {
    decoding.join(1000, tokens, shared + own);
    decoding.tree().remove(1000, decoding.pool());
  }
  state.counters["time_per_token"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * (shared + own),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(JoinAndLeave)
    ->ArgNames({"shared", "own"})
    ->ArgsProduct({{0, 2048}, {64, 256, 1024, 4096}})
    ->Unit(benchmark::kMicrosecond);

void Append(benchmark::State& state) {
  kv::BlockPool pool({.layers = 1,
                      .kv_heads = 1,
                      .head_dim = 1,
                      .block_tokens = kChunkTokens,
                      .num_blocks = 1 << 10});
  PrefixTree tree({.chunk_tokens = kChunkTokens});
  constexpr int32_t kMost = kChunkTokens << 10;
  const Tokens first = {1};
  int32_t tokens = kMost;
  for (auto _ : state) {
    if (tokens == kMost) {
      state.PauseTiming();
      if (tree.contains(1)) tree.remove(1, pool);
      REPRISE_CHECK(tree.insert(1, {}, first, {}, kMost, 0, pool));
      tokens = 1;
      state.ResumeTiming();
    }
    REPRISE_CHECK(tree.append(1, 5, tokens, pool));
    ++tokens;
  }
}
BENCHMARK(Append);

void BuildPlan(benchmark::State& state) {
  const auto sequences = static_cast<int32_t>(state.range(0)),
             shared = static_cast<int32_t>(state.range(1));
  Decoding decoding(sequences, shared, 128, 64);
  TreePlanner planner(more_than_one(), {});
  kv::AttentionPlan plan;
  for (auto _ : state) {
    plan.revision = 0;
    plan_step(planner, decoding.tree(), decoding.batch(), decoding.pool(), plan);
  }
  REPRISE_CHECK(planner.plans_advanced() == 0);
  state.counters["items"] = static_cast<double>(plan.items.size());
}
BENCHMARK(BuildPlan)
    ->ArgNames({"batch", "shared"})
    ->Args({32, 2048})
    ->Args({256, 0})
    ->Args({256, 2048})
    ->Unit(benchmark::kMicrosecond);

void AdvancePlan(benchmark::State& state) {
  constexpr int32_t kNewTokens = 2000;
  const auto sequences = static_cast<int32_t>(state.range(0)),
             shared = static_cast<int32_t>(state.range(1));
  Decoding decoding(sequences, shared, 128, kNewTokens);
  TreePlanner planner(more_than_one(), {});
  kv::AttentionPlan plan;
  plan_step(planner, decoding.tree(), decoding.batch(), decoding.pool(), plan);
  for (auto _ : state) {
    state.PauseTiming();
    if (!decoding.grow()) {
      state.SkipWithError("the sequences are full: fewer iterations");
      break;
    }
    state.ResumeTiming();
    plan_step(planner, decoding.tree(), decoding.batch(), decoding.pool(), plan);
  }
  REPRISE_CHECK(planner.plans_built() == 1, "{} plans built", planner.plans_built());
}
BENCHMARK(AdvancePlan)
    ->ArgNames({"batch", "shared"})
    ->Args({32, 2048})
    ->Args({256, 2048})
    ->Iterations(1900)
    ->Unit(benchmark::kMicrosecond);

class SharingMethod final : public PrefixTreeCache {
 public:
  SharingMethod() : PrefixTreeCache({.tree = {.chunk_tokens = kChunkTokens}}, more_than_one()) {}
};

// All that the engine asks of a method in a step: ranks, blocks, plan, and recording what was
// computed.
void DecodeStep(benchmark::State& state) {
  constexpr int32_t kNewTokens = 2000;
  const auto sequences = static_cast<int32_t>(state.range(0));
  const auto shared = static_cast<int32_t>(state.range(1));
  SharingMethod method;
  const PoolNeed need =
      method.pool_need({.max_batch = sequences, .max_sequence_tokens = shared + 128 + kNewTokens});
  kv::BlockPool pool({.layers = 1,
                      .kv_heads = 1,
                      .head_dim = 1,
                      .block_tokens = need.block_tokens,
                      .num_blocks = static_cast<int32_t>(need.num_blocks)});
  std::vector<Tokens> tokens;
  Tokens positions;
  for (int32_t t = 0; t < shared + 128 + kNewTokens; ++t) positions.push_back(t);
  for (int32_t i = 0; i < sequences; ++i) {
    tokens.push_back(prompt_of(shared, 1 + i % 128, 100 + i));
    REPRISE_CHECK(
        method.admit({.id = i, .tokens = tokens.back(), .max_new_tokens = kNewTokens}, pool)
            .admitted);
    tokens.back().resize(tokens.back().size() + kNewTokens, 5);
  }
  std::vector<StepSequence> batch;
  for (int32_t i = 0; i < sequences; ++i)
    batch.push_back({.id = i,
                     .first_row = i,
                     .rows = 1,
                     .first_token = shared + 1 + i % 128,
                     .positions = positions,
                     .tokens = tokens[static_cast<size_t>(i)],
                     .length = shared + 2 + i % 128});
  kv::AttentionPlan plan;
  for (auto _ : state) {
    int64_t ranks = 0;
    for (const StepSequence& part : batch) ranks += method.row_rank(part.id);
    benchmark::DoNotOptimize(ranks);
    REPRISE_CHECK(method.reserve(batch, pool));
    write_plan(method, {}, batch, pool, plan);
    method.computed(batch, pool);
    for (StepSequence& part : batch) {
      ++part.first_token;
      ++part.length;
    }
  }
}
BENCHMARK(DecodeStep)
    ->ArgNames({"batch", "shared"})
    ->Args({32, 2048})
    ->Args({256, 2048})
    ->Iterations(1900)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace reprise::reuse

BENCHMARK_MAIN();
