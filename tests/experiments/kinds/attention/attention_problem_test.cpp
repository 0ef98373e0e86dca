// Tests the shape of a decode step, and its costs against numbers computed by hand.
#include "experiments/kinds/attention/attention_problem.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/experiments/kinds/attention/attention_group.h"
#include "tests/support/json.h"

namespace reprise::experiments {
namespace {

// 3 sequences that share 5 of 7 tokens; 4 heads of 8 on 2 kv heads.
AttentionProblem small() {
  return {.batch = 3,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 8,
          .prompt_tokens = 7,
          .shared_tokens = 5,
          .kv_dtype = DType::kBF16};
}

void expect_refused(const Json& settings, const std::string& part) {
  try {
    (void)attention_problem(attention_group(settings));
    ADD_FAILURE() << settings.dump() << " was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(AttentionProblem, SharedPartIsGivenInTokensOrInPercent) {
  const AttentionProblem tokens =
      attention_problem(attention_group({{"prompt_tokens", 100}, {"shared_tokens", 25}}));
  EXPECT_EQ(tokens.shared_tokens, 25);
  EXPECT_EQ(tokens.prompt_tokens, 100);
  const AttentionProblem percent =
      attention_problem(attention_group({{"prompt_tokens", 100}, {"shared_percent", 75}}));
  EXPECT_EQ(percent.shared_tokens, 75);
}

TEST(AttentionProblem, PromptIsGivenWholeOrAsItsTwoParts) {
  const AttentionProblem problem =
      attention_problem(attention_group({{"context_tokens", 128}, {"shared_tokens", 64}}));
  EXPECT_EQ(problem.prompt_tokens, 192);
  EXPECT_EQ(problem.shared_tokens, 64);
}

TEST(AttentionProblem, KvHeadsAreTheHeadsUnlessSaid) {
  EXPECT_EQ(attention_problem(attention_group({{"prompt_tokens", 8}, {"heads", 12}})).kv_heads, 12);
}

TEST(AttentionProblem, ContradictionsNameBothSettings) {
  expect_refused({{"prompt_tokens", 8}, {"shared_tokens", 4}, {"shared_percent", 50}},
                 "shared_tokens is 4 and shared_percent is 50");
  expect_refused({{"prompt_tokens", 8}, {"context_tokens", 4}}, "context_tokens is 4");
  expect_refused({{"context_tokens", 8}, {"shared_percent", 50}}, "set prompt_tokens");
  expect_refused({{"prompt_tokens", 8}, {"shared_tokens", 9}}, "share at most the prompt");
  expect_refused({{"prompt_tokens", 8}, {"heads", 6}, {"kv_heads", 4}}, "divisor");
  expect_refused(Json::object(), "the prompt is empty");
}

TEST(AttentionCosts, CountsKeysAndValuesOnceOrForEachSequence) {
  EXPECT_EQ(kv_token_bytes(small()), 2 * 2 * 8 * 2);
  // 5 shared and 3 private tokens of each of 3 sequences.
  EXPECT_EQ(useful_kv_bytes(small(), 8), (5 + 3 * 3) * 64);
  EXPECT_EQ(attention_flop(small(), 8), 4 * 3 * 4 * 8 * 8);
}

TEST(AttentionCosts, BoundsFollowTheirFormulas) {
  // 3 * 8 tokens if each sequence reads all of its own; 5 + 3 * 3 if the shared ones are read once.
  EXPECT_DOUBLE_EQ(io_bound_speedup(small(), 8), 24.0 / 14.0);
  EXPECT_DOUBLE_EQ(relay_theory_speedup(small(), 8), (5.0 + 2 + 2) / (5.0 / 3 + 2 + 7));
  AttentionProblem apart = small();
  apart.shared_tokens = 0;
  EXPECT_DOUBLE_EQ(io_bound_speedup(apart, 8), 1.0);
}

// The figure 5 of RelayAttention has batch 32 and a context of 128. With s shared tokens, its curve
// passes (s + 130) / (s / 32 + 135).
TEST(AttentionCosts, TheoryCountsTheContextAsThePaperDoes) {
  const AttentionProblem problem = attention_problem(
      attention_group({{"batch", 32}, {"context_tokens", 128}, {"shared_tokens", 2048}}));
  EXPECT_DOUBLE_EQ(relay_theory_speedup(problem, problem.prompt_tokens + 1),
                   (2048.0 + 130) / (64 + 135));
}

TEST(AttentionCosts, PlanReadsEachItemOnce) {
  kv::AttentionPlan plan;
  plan.caches = {{.dtype = DType::kF32, .kv_heads = 2, .head_dim = 8}};
  plan.block_offsets = {0, 1};
  plan.segments = {{.first_block = 0, .block_tokens = 16, .tokens = 10},
                   {.first_block = 1, .block_tokens = 16, .tokens = 6}};
  plan.items = {
      {.segment = 0, .first_row = 0, .end_row = 2},
      {.segment = 1, .first_row = 0, .end_row = 1},
      // One row sees 3 and the other 4 of the 6 tokens, so 4 are read.
      {.segment = 1, .first_row = 1, .end_row = 3, .mask = kv::Mask::kCausal, .visible = 3}};
  EXPECT_EQ(plan_kv_bytes(plan), (10 + 6 + 4) * 2 * 2 * 8 * 4);
}

// ChunkAttention's table 1 counts 2048 cached tokens and the new one.
TEST(AttentionCosts, AgreeWithChunkAttentionsTable1) {
  const AttentionProblem problem{.batch = 32,
                                 .heads = 32,
                                 .kv_heads = 32,
                                 .head_dim = 128,
                                 .prompt_tokens = 2048,
                                 .kv_dtype = DType::kF16};
  EXPECT_NEAR(attention_flop(problem, 2049) * 1e-6, 1074.27, 0.005);
}

}  // namespace
}  // namespace reprise::experiments
