// Tests the random prompt stream: it is repeatable, independent of order, and uniform.
#include "workloads/random_tokens.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace reprise::workloads {
namespace {

std::vector<int32_t> random_tokens(uint64_t seed, int64_t item, int64_t tokens, int64_t vocab) {
  return RandomTokens({.vocab = vocab, .seed = seed}).prompt(item, tokens);
}

TEST(RandomTokens, DependOnSeedRequestAndIndexAlone) {
  const auto prompt = random_tokens(7, 3, 100, 32000);
  EXPECT_EQ(prompt, random_tokens(7, 3, 100, 32000));
  EXPECT_NE(prompt, random_tokens(8, 3, 100, 32000));
  EXPECT_NE(prompt, random_tokens(7, 4, 100, 32000));
  const auto longer = random_tokens(7, 3, 200, 32000);
  EXPECT_TRUE(std::equal(prompt.begin(), prompt.end(), longer.begin()));
}

// Compares with the definition, so that the prompts of old records can be made again.
TEST(RandomTokens, AreElementsOfTheStream) {
  const std::vector<int32_t> prompt = random_tokens(7, -3, 50, 32000);
  for (uint64_t t = 0; t < prompt.size(); ++t)
    EXPECT_EQ(static_cast<uint64_t>(prompt[t]),
              (random_bits(7, static_cast<uint64_t>(-3), t) >> 32) * 32000 >> 32);
}

TEST(RandomTokens, StayInsideTheVocabulary) {
  for (const int64_t vocab : {1, 2, 3, 257, 128256}) {
    for (const int32_t id : random_tokens(1, 0, 2000, vocab)) {
      ASSERT_GE(id, 0);
      ASSERT_LT(id, vocab);
    }
  }
  EXPECT_TRUE(random_tokens(1, 0, 0, 10).empty());
}

TEST(RandomTokens, AreUniformWithinFiveStandardDeviations) {
  constexpr int kVocab = 16, kDraws = 64000;
  std::vector<int> counts(kVocab);
  for (const int32_t id : random_tokens(11, 5, kDraws, kVocab)) ++counts[static_cast<size_t>(id)];
  const double mean = static_cast<double>(kDraws) / kVocab;
  for (const int count : counts) EXPECT_NEAR(count, mean, 5 * std::sqrt(mean));
}

TEST(RandomTokens, NeighbouringStreamsDiffer) {
  std::set<std::vector<int32_t>> prompts;
  for (uint64_t seed = 0; seed < 10; ++seed)
    for (int64_t item = -5; item < 5; ++item) prompts.insert(random_tokens(seed, item, 4, 1 << 20));
  EXPECT_EQ(prompts.size(), 100u);
}

}  // namespace
}  // namespace reprise::workloads
