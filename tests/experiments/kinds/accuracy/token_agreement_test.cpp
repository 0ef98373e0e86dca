// Tests the comparison of generations on hand-made tokens and logits.
#include "experiments/kinds/accuracy/token_agreement.h"

#include <gtest/gtest.h>

namespace reprise::experiments {
namespace {

// Four tokens of a vocabulary of three.
Generation sample() {
  return {.tokens = {2, 0, 1, 1},
          .logits = {0, 1, 2, /**/ 4, -9, 3, /**/ 0, 5, 1, /**/ 0.5F, 7, 6}};
}

TEST(Agreement, OfAGenerationWithItselfIsWhole) {
  Agreement agreement;
  agreement.add(0, sample(), sample());
  EXPECT_EQ(agreement.generations, 1);
  EXPECT_EQ(agreement.compared_tokens, 4);
  EXPECT_EQ(agreement.max_logit_difference, 0);
  EXPECT_EQ(agreement.logit_scale, 9);
  EXPECT_TRUE(agreement.divergences.empty());
}

TEST(Agreement, SeesALogitThatMovedThoughTheTokensAreTheSame) {
  Generation other = sample();
  other.logits[4] += 0.25F;
  other.logits[9] -= 0.5F;  // a logit of the last token
  Agreement agreement;
  agreement.add(0, sample(), other);
  EXPECT_EQ(agreement.max_logit_difference, 0.5);
  EXPECT_TRUE(agreement.divergences.empty());
}

TEST(Agreement, ComparesUpToTheFirstTokenThatDiffers) {
  Generation other = sample();
  other.tokens = {2, 0, 0, 2};
  other.logits[6] = 5.5F;   // a logit of the first token that differs: the texts are equal up to it
  other.logits[11] = 1000;  // a logit after the texts differ
  Agreement agreement;
  agreement.add(0, sample(), sample());
  agreement.add(7, sample(), other);
  EXPECT_EQ(agreement.generations, 2);
  EXPECT_EQ(agreement.compared_tokens, 4 + 3);
  EXPECT_EQ(agreement.max_logit_difference, 5.5);
  EXPECT_EQ(agreement.logit_scale, 9);
  ASSERT_EQ(agreement.divergences.size(), 1U);
  const Divergence& divergence = agreement.divergences[0];
  EXPECT_EQ(divergence.request, 7);
  EXPECT_EQ(divergence.index, 2);
  EXPECT_EQ(divergence.reference_token, 1);
  EXPECT_EQ(divergence.token, 0);
  EXPECT_EQ(divergence.max_logit_difference, 5.5);
}

TEST(Agreement, SeesTheFirstTokenAndTheLast) {
  for (const size_t index : {0U, 3U}) {
    Generation other = sample();
    other.tokens[index] = 0;
    if (index == 0) other.tokens[0] = 1;
    Agreement agreement;
    agreement.add(0, sample(), other);
    ASSERT_EQ(agreement.divergences.size(), 1U);
    EXPECT_EQ(agreement.divergences[0].index, static_cast<int64_t>(index));
    EXPECT_EQ(agreement.compared_tokens, static_cast<int64_t>(index) + 1);
  }
}

TEST(Agreement, OfNothingIsNothing) {
  Agreement agreement;
  agreement.add(0, {}, {});
  EXPECT_EQ(agreement.generations, 1);
  EXPECT_EQ(agreement.compared_tokens, 0);
  EXPECT_TRUE(agreement.divergences.empty());
}

}  // namespace
}  // namespace reprise::experiments
