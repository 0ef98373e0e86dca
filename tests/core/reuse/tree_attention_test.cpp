// Compares the kernels over plans of random trees with attention in double precision over each
// sequence by itself.
#include <gtest/gtest.h>

#include <cmath>

#include "core/device/tensor.h"
#include "core/kernels/attention/attention.h"
#include "core/kernels/attention/reference/attention.h"
#include "core/kernels/kv_write/kv_write.h"
#include "core/reuse/tree_plan.h"
#include "tests/core/kernels/attention/attention_cases.h"
#include "tests/core/kernels/attention/explained.h"
#include "tests/support/kernels.h"
#include "tests/support/random_tree.h"

namespace reprise::reuse {
namespace {

using testing::RandomTree;

struct Shape {
  int64_t heads, kv_heads, head_dim;
  bool has_alibi;
};

// Keys and values depend on a token's position and on all tokens up to it, as in a model: equal
// prefixes have equal keys and values, and nothing else has.
class Attended {
 public:
  Attended(RandomTree& random, const Shape& shape) : random_(random), shape_(shape) {}

  // The row of token `token`: [kv_heads, head_dim] keys, then as many values, then the query.
  [[nodiscard]] std::vector<float> row_of(const RandomTree::Sequence& sequence,
                                          int32_t token) const {
    uint64_t seed = 1;
    for (int32_t t = 0; t <= token; ++t)
      seed =
          (seed * 31 + static_cast<uint64_t>(sequence.tokens[static_cast<size_t>(t)])) * 1000003 +
          static_cast<uint64_t>(sequence.positions[static_cast<size_t>(t)]);
    return kernels::testing::random_queries((2 * shape_.kv_heads + shape_.heads) * shape_.head_dim,
                                            seed);
  }
  [[nodiscard]] int64_t kv_size() const { return shape_.kv_heads * shape_.head_dim; }
  [[nodiscard]] int64_t row_size() const { return 2 * kv_size() + shape_.heads * shape_.head_dim; }

  // Attention of one row over its sequence by the definition, with sums in f64, from a contiguous
  // cache.
  [[nodiscard]] kernels::reference::ExactRows expected(
      const RandomTree::Sequence& sequence, int32_t token, DType dtype,
      const kernels::AttentionParams& params) const {
    kernels::testing::RandomCache cache(dtype, token + 1, 1, shape_.kv_heads, 1, shape_.head_dim,
                                        1);
    kv::AttentionPlan plan;
    plan.caches = {cache.view};
    std::vector<float> rows;
    for (int32_t t = 0; t <= token; ++t) {
      const std::vector<float> row = row_of(sequence, t);
      rows.insert(rows.end(), row.begin(), row.end());
      plan.row_slots.push_back(cache.offset_of(t));
      // Each token is a segment of its own, because positions may be any.
      plan.block_offsets.push_back(cache.offset_of(t));
      plan.segments.push_back({.first_block = t,
                               .block_tokens = 1,
                               .tokens = 1,
                               .first_position = sequence.positions[static_cast<size_t>(t)]});
    }
    kv::AttentionPlan write;
    write.caches = plan.caches;
    write.row_slots = plan.row_slots;
    write.row_positions.assign(plan.row_slots.size(), 0);
    write.row_lengths.assign(plan.row_slots.size(), 1);
    write.finish();
    kernels::write_kv(write, 0, rows.data(), rows.data() + kv_size(), row_size(),
                      {.threads = 1, .isa = best_isa()});
    plan.row_slots.assign(1, 0);
    plan.row_positions.assign(1, sequence.positions[static_cast<size_t>(token)]);
    plan.row_lengths.assign(1, 1);
    for (int32_t t = 0; t <= token; ++t)
      plan.items.push_back({.segment = t, .first_row = 0, .end_row = 1});
    plan.finish();
    const float* query = rows.data() + token * row_size() + 2 * kv_size();
    return kernels::reference::attention_with_errors(
        plan, 0, {.data = query, .row_stride = row_size(), .heads = shape_.heads}, params);
  }

  // Steps the tree once on one instruction set and compares every row.
  void step(const std::vector<StepSequence>& batch, TreePlanner& planner, kv::AttentionPlan& plan,
            const kernels::AttentionParams& params, Isa isa) {
    const Context context{.threads = 2, .isa = isa};
    testing::plan_step(planner, random_.tree(), batch, random_.pool(), plan);
    std::vector<float> rows;
    for (const StepSequence& part : batch)
      for (int32_t token = part.first_token; token < part.first_token + part.rows; ++token) {
        const std::vector<float> row = row_of(random_.sequences().at(part.id), token);
        rows.insert(rows.end(), row.begin(), row.end());
      }
    kernels::write_kv(plan, 0, rows.data(), rows.data() + kv_size(), row_size(), context);
    std::vector<float> out(static_cast<size_t>(plan.rows() * shape_.heads * shape_.head_dim));
    kernels::AttentionWorkspace workspace;
    kernels::attention(
        plan, 0,
        {.data = rows.data() + 2 * kv_size(), .row_stride = row_size(), .heads = shape_.heads},
        params, {.data = out.data()}, workspace, context);
    const DType dtype = random_.pool().options().dtype;
    const int64_t out_size = shape_.heads * shape_.head_dim;
    const float* got = out.data();
    for (const StepSequence& part : batch)
      for (int32_t token = part.first_token; token < part.first_token + part.rows; ++token) {
        ASSERT_NO_FATAL_FAILURE(kernels::testing::expect_explained(
            {got, got + out_size}, expected(random_.sequences().at(part.id), token, dtype, params),
            kernels::testing::cpu_rounding(plan, isa),
            std::string(name_of(dtype)) + " " + std::string(name_of(isa))));
        got += out_size;
      }
  }

 private:
  RandomTree& random_;
  Shape shape_;
};

TEST(TreeAttention, MatchesEachSequenceByItselfInEveryDtype) {
  uint64_t seed = 0;
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (const Shape& shape : {Shape{2, 2, 32, false}, Shape{4, 2, 16, false},
                               Shape{3, 1, 20, false}, Shape{4, 4, 16, true}})
      for (Isa isa : reprise::testing::available_isas()) {
        SCOPED_TRACE("seed " + std::to_string(++seed));
        const std::vector<float> slopes = {0.5f, 0.25f, 0.125f, 0.0625f};
        kernels::AttentionParams params{.scale =
                                            1.0f / std::sqrt(static_cast<float>(shape.head_dim))};
        if (shape.has_alibi) params.alibi.slopes = slopes;
        const kv::BlockPoolOptions pool{
            .layers = 1, .kv_heads = shape.kv_heads, .head_dim = shape.head_dim, .dtype = dtype};
        RandomTree random(seed, seed % 2 == 0 ? 16 : 5, 300, pool, /*odd_positions=*/seed % 3 == 0);
        random.declare();
        Attended attended(random, shape);
        TreePlanner planner(
            [&](const TreeNode& node) { return node.sequences > 1 && node.tokens % 3 != 0; }, {});
        kv::AttentionPlan plan;
        for (int step = 0; step < 12; ++step) {
          if (step < 5) random.join(/*reuse=*/seed % 4 < 2);
          if (step == 8) random.leave_any();
          random.generate();
          const std::vector<StepSequence> batch = random.batch(/*decode=*/step > 8);
          if (batch.empty()) continue;
          ASSERT_NO_FATAL_FAILURE(attended.step(batch, planner, plan, params, isa))
              << "step " << step;
          random.computed(batch);
        }
      }
}

// A test of microsoft/chunk-attention: 32 sequences of 2,000 tokens, half of them shared, with
// chunk sizes from 32 to 1024, read chunk-first and sequence-first, compared with naive attention.
class PublishedShape : public ::testing::TestWithParam<int32_t> {
 protected:
  static constexpr int32_t kSequences = 32, kTokens = 2000, kShared = 1000;
  static constexpr int64_t kHeads = 2, kDim = 16, kRow = kHeads * kDim;

  // [kRow] values of a token. Those of shared tokens are the same for all sequences.
  static std::vector<float> values(int32_t what, int32_t sequence, int32_t token) {
    const int32_t owner = token < kShared ? 0 : sequence + 1;
    return kernels::testing::random_queries(
        kRow, static_cast<uint64_t>((what * 100 + owner) * 4096 + token));
  }
  static constexpr int32_t kKey = 0, kValue = 1, kQuery = 2;

  void write(kv::AttentionPlan& plan, const std::vector<StepSequence>& batch) const {
    std::vector<float> keys, vs;
    for (const StepSequence& part : batch)
      for (int32_t t = part.first_token; t < part.first_token + part.rows; ++t) {
        const auto sequence = static_cast<int32_t>(part.id);
        for (float x : values(kKey, sequence, t)) keys.push_back(x);
        for (float x : values(kValue, sequence, t)) vs.push_back(x);
      }
    kernels::write_kv(plan, 0, keys.data(), vs.data(), kRow, context_);
  }
  static std::vector<double> naive(int32_t sequence, const std::vector<float>& query) {
    std::vector<double> out(kRow, 0.0);
    for (int64_t h = 0; h < kHeads; ++h) {
      std::vector<double> scores;
      for (int32_t t = 0; t <= kTokens; ++t) {
        const std::vector<float> key = values(kKey, sequence, t);
        double score = 0;
        for (int64_t c = h * kDim; c < (h + 1) * kDim; ++c)
          score += double{query[static_cast<size_t>(c)]} * key[static_cast<size_t>(c)];
        scores.push_back(score / std::sqrt(double{kDim}));
      }
      const double most = *std::max_element(scores.begin(), scores.end());
      double total = 0;
      for (double& score : scores) total += score = std::exp(score - most);
      for (int32_t t = 0; t <= kTokens; ++t) {
        const std::vector<float> value = values(kValue, sequence, t);
        for (int64_t c = h * kDim; c < (h + 1) * kDim; ++c)
          out[static_cast<size_t>(c)] +=
              scores[static_cast<size_t>(t)] / total * value[static_cast<size_t>(c)];
      }
    }
    return out;
  }

  // The outputs of every sequence by the definition. They do not depend on the chunk size, so they
  // are computed once.
  static const std::vector<std::vector<double>>& definition() {
    static const auto outputs = [] {
      std::vector<std::vector<double>> all;
      for (int32_t i = 0; i < kSequences; ++i) all.push_back(naive(i, values(kQuery, i, kTokens)));
      return all;
    }();
    return outputs;
  }

  Context context_{.threads = 2, .isa = best_isa()};
};

TEST_P(PublishedShape, ChunkFirstAndSequenceFirstAreWithinRoundingOfNaiveAttention) {
  const int32_t chunk_tokens = GetParam();
  const int32_t shared = kShared / chunk_tokens * chunk_tokens;
  kv::BlockPool pool(
      {.layers = 1,
       .kv_heads = kHeads,
       .head_dim = kDim,
       .block_tokens = chunk_tokens,
       .num_blocks = kSequences * ((kTokens - shared) / chunk_tokens + 2) + shared / chunk_tokens});
  PrefixTree tree({.chunk_tokens = chunk_tokens});
  std::vector<std::vector<int32_t>> tokens(kSequences);
  std::vector<int32_t> positions;
  for (int32_t t = 0; t <= kTokens; ++t) positions.push_back(t);
  const auto batch_of = [&](int32_t first_token, int32_t rows) {
    std::vector<StepSequence> batch;
    for (int32_t i = 0; i < kSequences; ++i)
      batch.push_back({.id = i,
                       .first_row = i * rows,
                       .rows = rows,
                       .first_token = first_token,
                       .positions = positions,
                       .tokens = tokens[static_cast<size_t>(i)],
                       .length = first_token + rows});
    return batch;
  };
  for (int32_t i = 0; i < kSequences; ++i) {
    std::vector<int32_t>& mine = tokens[static_cast<size_t>(i)];
    for (int32_t t = 0; t < kTokens; ++t) mine.push_back(t < kShared ? 7 : 100 + i);
    const PrefixMatch match = tree.match(mine, {});
    EXPECT_EQ(match.tokens, i == 0 ? 0 : shared);
    ASSERT_TRUE(tree.insert(i, match, mine, {}, kTokens + 1, 0, pool));
  }
  kv::AttentionPlan plan;
  TreePlanner prefill([](const TreeNode&) { return false; }, {});
  const std::vector<StepSequence> prompts = batch_of(0, kTokens);
  testing::plan_step(prefill, tree, prompts, pool, plan);
  write(plan, prompts);
  for (int32_t i = 0; i < kSequences; ++i) {
    tree.mark_computed(i, 0, kTokens);
    tokens[static_cast<size_t>(i)].push_back(3000 + i);
    ASSERT_TRUE(tree.append(i, 3000 + i, kTokens, pool));
  }
  const std::vector<StepSequence> newest = batch_of(kTokens, 1);
  std::vector<float> queries;
  for (int32_t i = 0; i < kSequences; ++i)
    for (float x : values(kQuery, i, kTokens)) queries.push_back(x);
  for (const bool chunk_first : {true, false}) {
    TreePlanner planner([&](const TreeNode& node) { return chunk_first && node.sequences > 1; },
                        {});
    testing::plan_step(planner, tree, newest, pool, plan);
    EXPECT_EQ(std::ssize(plan.items), kSequences + (chunk_first && shared > 0 ? 1 : 0));
    write(plan, newest);
    std::vector<float> out(queries.size());
    kernels::AttentionWorkspace workspace;
    kernels::attention(plan, 0, {.data = queries.data(), .row_stride = kRow, .heads = kHeads},
                       {.scale = 1.0f / std::sqrt(float{kDim})}, {.data = out.data()}, workspace,
                       context_);
    double worst = 0;
    for (int32_t i = 0; i < kSequences; ++i) {
      const std::vector<double>& want = definition()[static_cast<size_t>(i)];
      for (size_t c = 0; c < want.size(); ++c)
        worst = std::max(worst, std::abs(double{out[static_cast<size_t>(i * kRow) + c]} - want[c]));
    }
    // The original asks for 1e-3 and reaches 2e-6.
    EXPECT_LE(worst, 4e-6) << (chunk_first ? "chunk first" : "sequence first");
  }
}

INSTANTIATE_TEST_SUITE_P(ChunkSizes, PublishedShape, ::testing::Values(32, 64, 128, 256, 512, 1024),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace reprise::reuse
