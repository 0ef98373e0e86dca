// Tests one step driver with several contributors to one plan.
#include "core/engine/step.h"

#include <gtest/gtest.h>

#include <numeric>

#include "methods/chunk_attention/chunk_attention.h"
#include "methods/paged/paged.h"
#include "tests/support/json.h"
#include "tests/support/run_model.h"
#include "tests/support/tiny_models.h"

namespace reprise::engine {
namespace {

// A run of tokens in the blocks of a method's sequence. Every row of the step reads it, as if it
// were a module that all requests import.
class Module final : public reuse::PlanContributor {
 public:
  Module(const reuse::PrefixTreeCache& method, const kv::BlockPool& pool, RequestId from,
         int32_t first_token, int32_t tokens)
      : method_(method), pool_(pool), from_(from), first_token_(first_token), tokens_(tokens) {}

  void append(reuse::StepBatch batch, kv::AttentionPlan& plan) override {
    const int32_t block_tokens = pool_.options().block_tokens;
    kv::Segment segment{.first_block = static_cast<int32_t>(plan.block_offsets.size()),
                        .block_tokens = block_tokens,
                        .skipped = first_token_ % block_tokens,
                        .tokens = tokens_,
                        .first_position = first_token_};
    const reuse::TreeSequence& sequence = method_.tree().sequence(from_);
    for (int32_t k = first_token_ / block_tokens; k * block_tokens < first_token_ + tokens_; ++k)
      plan.block_offsets.push_back(
          pool_.offset_of(method_.tree().chunk(sequence.path[static_cast<size_t>(k)]).block));
    plan.items.push_back({.segment = static_cast<int32_t>(plan.segments.size()),
                          .first_row = 0,
                          .end_row = plan.rows()});
    plan.segments.push_back(segment);
    sequences_ = batch.size();
  }
  [[nodiscard]] bool goes_on(reuse::StepBatch batch) const override {
    return batch.size() == sequences_;
  }

 private:
  const reuse::PrefixTreeCache& method_;
  const kv::BlockPool& pool_;
  RequestId from_;
  int32_t first_token_, tokens_;
  size_t sequences_ = 0;
};

class Steps : public ::testing::Test {
 protected:
  static constexpr int32_t kSystem = 20, kModule = 9, kOwn = 14;

  // Logits [vocab] of the last row of a step of one sequence.
  std::vector<float> run(Step& step, RequestId id, int32_t first_token,
                         const std::vector<int32_t>& tokens,
                         const std::vector<int32_t>& positions) {
    step.clear();
    step.add({.id = id,
              .rows = static_cast<int32_t>(tokens.size()) - first_token,
              .first_token = first_token,
              .positions = positions,
              .tokens = tokens,
              .length = positions.back() + 1});
    step.arrange();
    EXPECT_TRUE(step.reserve());
    std::vector<float> logits(static_cast<size_t>(decoder_->config().vocab));
    const std::vector<int32_t> wanted = {step.rows() - 1};
    decoder_->forward({.ids = std::span(tokens).subspan(static_cast<size_t>(first_token)),
                       .plan = step.plan(),
                       .logit_rows = wanted},
                      {.logits = logits});
    step.computed();
    return logits;
  }
  Context context_ = Context::machine();
  std::unique_ptr<model::Decoder> decoder_ =
      testing::random_decoder(testing::scaled_down("llama-2-7b"), context_);
};

// Two contributors bring a sequence's first 29 tokens; the method knows of neither. Prefill and
// decode must give what the whole text gives.
TEST_F(Steps, TwoContributorsAndAMethodWriteOnePlan) {
  methods::Paged method({.block_tokens = 16});
  const model::ModelConfig& config = decoder_->config();
  kv::BlockPool pool({.layers = config.layers,
                      .kv_heads = config.kv_heads,
                      .head_dim = config.head_dim,
                      .block_tokens = 16,
                      .num_blocks = 20});
  std::vector<int32_t> text;
  for (int32_t i = 0; i < kSystem + kModule + kOwn + 10; ++i) text.push_back((7 * i * i + i) % 97);
  const std::vector<float> want = testing::all_logits(*decoder_, text, 512);
  const auto vocab = static_cast<size_t>(config.vocab);
  const auto expect_logits_of = [&](int32_t token, const std::vector<float>& got) {
    for (size_t i = 0; i < vocab; ++i)
      ASSERT_NEAR(got[i], want[static_cast<size_t>(token) * vocab + i], 1e-4) << "token " << token;
  };

  Step alone(method, pool);
  constexpr int32_t kCached = kSystem + kModule;
  const std::vector<int32_t> cached(text.begin(), text.begin() + kCached);
  std::vector<int32_t> positions(kCached);
  std::iota(positions.begin(), positions.end(), 0);
  ASSERT_TRUE(method.admit({.id = 0, .tokens = cached}, pool).admitted);
  expect_logits_of(kCached - 1, run(alone, 0, 0, cached, positions));

  Module system(method, pool, 0, 0, kSystem), module(method, pool, 0, kSystem, kModule);
  Step step(method, pool);
  step.add_contributor(system);
  step.add_contributor(module);
  std::vector<int32_t> own(text.begin() + kCached, text.begin() + kCached + kOwn);
  positions.resize(kOwn);
  std::iota(positions.begin(), positions.end(), kCached);
  ASSERT_TRUE(
      method.admit({.id = 1, .tokens = own, .positions = positions, .max_new_tokens = 20}, pool)
          .admitted);
  expect_logits_of(kCached + kOwn - 1, run(step, 1, 0, own, positions));
  for (int32_t token = kOwn; token < kOwn + 10; ++token) {
    own.push_back(text[static_cast<size_t>(kCached + token)]);
    positions.push_back(kCached + token);
    expect_logits_of(kCached + token, run(step, 1, token, own, positions));
  }
  double advanced = 0;
  method.report([&](std::string_view name, double value, std::string_view) {
    if (name == "plans_advanced") advanced = value;
  });
  EXPECT_EQ(advanced, 9) << "contributions that go on leave the plan to be advanced";
  for (RequestId id : {0, 1}) method.retire(id, pool);
  EXPECT_EQ(pool.used_blocks(), 0);
}

TEST_F(Steps, RowsLieInTheMethodsOrder) {
  methods::ChunkAttention method({.tree = {.chunk_tokens = 16}});
  kv::BlockPool pool(
      {.layers = 1, .kv_heads = 1, .head_dim = 1, .block_tokens = 16, .num_blocks = 20});
  std::vector<int32_t> positions(17);
  std::iota(positions.begin(), positions.end(), 0);
  std::vector<std::vector<int32_t>> tokens = {
      std::vector<int32_t>(17, 1), std::vector<int32_t>(17, 2), std::vector<int32_t>(17, 1)};
  Step step(method, pool);
  for (RequestId id : {0, 1, 2}) {
    const auto i = static_cast<size_t>(id);
    ASSERT_TRUE(method.admit({.id = id, .tokens = tokens[i]}, pool).admitted);
    step.add({.id = id, .rows = 17, .positions = positions, .tokens = tokens[i], .length = 17});
  }
  step.arrange();
  EXPECT_EQ(std::vector<int32_t>(step.order().begin(), step.order().end()),
            (std::vector<int32_t>{0, 2, 1}));
  EXPECT_EQ(step.rows(), 3 * 17);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(step.batch()[i].first_row, static_cast<int32_t>(17 * i));
  ASSERT_TRUE(step.reserve());
  EXPECT_EQ(std::count(step.plan().row_slots.begin(), step.plan().row_slots.end(), kv::kNoSlot), 16)
      << "the third's first chunk is the first's";
}

// Two runs of tokens in a cache of their own. The sequences of a batch read the first and the
// second run in turn.
class TwoRuns final : public reuse::PlanContributor {
 public:
  static constexpr int32_t kTokens[] = {5, 9};

  void append(reuse::StepBatch batch, kv::AttentionPlan& plan) override {
    const kv::CacheView own = plan.caches.front();
    const int32_t cache = plan.add_cache(own);
    const int64_t block = 0;
    int32_t segments[2] = {};
    for (size_t i = 0; i < 2; ++i)
      segments[i] = plan.add_segment(
          {.cache = cache, .block_tokens = kTokens[i], .tokens = kTokens[i]}, {&block, 1});
    for (size_t i = 0; i < batch.size(); ++i)
      plan.add_item({.segment = segments[i % 2],
                     .first_row = batch[i].first_row,
                     .end_row = batch[i].first_row + batch[i].rows});
  }
};

TEST_F(Steps, RunsOutsideThePoolAreReadRepeatedly) {
  methods::Paged method({.block_tokens = 16});
  kv::BlockPool pool(
      {.layers = 1, .kv_heads = 1, .head_dim = 1, .block_tokens = 16, .num_blocks = 8});
  const std::vector<int32_t> tokens = {1, 2, 3}, positions = {0, 1, 2};
  TwoRuns runs;
  Step step(method, pool);
  step.add_contributor(runs);
  for (RequestId id : {0, 1, 2, 3}) {
    ASSERT_TRUE(method.admit({.id = id, .tokens = tokens}, pool).admitted);
    step.add({.id = id, .rows = 3, .positions = positions, .tokens = tokens, .length = 3});
  }
  step.arrange();
  ASSERT_TRUE(step.reserve());
  (void)step.plan();
  for (int time = 0; time < 2; ++time) {
    const PlanReads all = step.reads({true, true, true, true}, /*window=*/0);
    EXPECT_EQ(all.repeated_tokens, 5 + 9);
    EXPECT_EQ(all.spared_tokens, 0);
    EXPECT_EQ(step.reads({true, true, false, true}, /*window=*/0).repeated_tokens, 9);
  }
}

}  // namespace
}  // namespace reprise::engine
