#include "core/engine/token_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "core/base/error.h"
#include "core/engine/sampling.h"

namespace reprise::engine {
namespace {

constexpr float kBelowAll = -std::numeric_limits<float>::infinity();
using Ids = std::vector<int32_t>;

std::vector<float> applied(const TokenRules& rules, std::vector<float> logits,
                           const Ids& prompt = {}, const Ids& generated = {}) {
  rules.apply(prompt, generated, logits);
  return logits;
}

TEST(TokenRules, EachRuleChangesTheLogitsThatItNames) {
  const std::vector<float> logits = {1, -2, 3, 0};
  EXPECT_EQ(applied({.bias = {{1, 5.0f}, {3, -1.0f}}}, logits), (std::vector<float>{1, 3, 3, -1}));
  EXPECT_EQ(applied({.allowed = {0, 3}}, logits), (std::vector<float>{1, kBelowAll, kBelowAll, 0}));
  const TokenRules late{.withheld = {2}, .min_tokens = 2};
  EXPECT_EQ(applied(late, logits, {2, 2}, {0}), (std::vector<float>{1, -2, kBelowAll, 0}));
  EXPECT_EQ(applied(late, logits, {}, {0, 0}), logits);
  // The repetition penalty lowers each token of prompt and answer once, whatever its logit's sign.
  EXPECT_EQ(applied({.repetition_penalty = 2}, logits, {1}, {2, 2}),
            (std::vector<float>{1, -4, 1.5, 0}));
  // The other two penalties look at the answer alone.
  EXPECT_EQ(applied({.frequency_penalty = 0.5}, logits, {0, 1}, {2, 2, 3}),
            (std::vector<float>{1, -2, 2, -0.5}));
  EXPECT_EQ(applied({.presence_penalty = 0.5}, logits, {0, 1}, {2, 2, 3}),
            (std::vector<float>{1, -2, 2.5, -0.5}));
}

// Compares with the definitions, computed token by token and in double.
TEST(TokenRules, AllTogetherFollowTheirDefinitions) {
  std::mt19937 draw(7);
  const auto below = [&](int n) { return static_cast<int32_t>(draw() % static_cast<unsigned>(n)); };
  for (int trial = 0; trial < 200; ++trial) {
    const int32_t vocab = 1 + below(20);
    const auto some = [&](int most) {
      Ids ids(static_cast<size_t>(below(most + 1)));
      for (int32_t& id : ids) id = below(vocab);
      return ids;
    };
    const Ids prompt = some(6), generated = some(6);
    TokenRules rules{.withheld = some(3),
                     .min_tokens = below(8),
                     .repetition_penalty = below(2) == 0 ? 1.0 : 0.5 + below(4),
                     .frequency_penalty = below(5) - 2.0,
                     .presence_penalty = below(5) - 2.0};
    for (const int32_t id : some(4)) rules.bias.emplace_back(id, static_cast<float>(below(9) - 4));
    rules.allowed = some(8);
    std::sort(rules.allowed.begin(), rules.allowed.end());
    rules.allowed.erase(std::unique(rules.allowed.begin(), rules.allowed.end()),
                        rules.allowed.end());
    std::vector<float> logits(static_cast<size_t>(vocab));
    for (float& logit : logits) logit = static_cast<float>(below(17) - 8) / 4;

    const std::vector<float> found = applied(rules, logits, prompt, generated);
    const auto count = [](const Ids& ids, int32_t id) {
      return static_cast<int>(std::count(ids.begin(), ids.end(), id));
    };
    for (int32_t id = 0; id < vocab; ++id) {
      double want = logits[static_cast<size_t>(id)];
      if (!rules.allowed.empty() && count(rules.allowed, id) == 0) want = kBelowAll;
      if (std::cmp_less(generated.size(), rules.min_tokens) && count(rules.withheld, id) > 0)
        want = kBelowAll;
      for (const auto& [token, value] : rules.bias)
        if (token == id) want += value;
      if (count(prompt, id) + count(generated, id) > 0)
        want = want > 0 ? want / rules.repetition_penalty : want * rules.repetition_penalty;
      if (const int times = count(generated, id); times > 0)
        want -= rules.frequency_penalty * times + rules.presence_penalty;
      const auto have = static_cast<double>(found[static_cast<size_t>(id)]);
      EXPECT_TRUE(have == want || std::abs(have - want) < 1e-5)
          << "trial " << trial << ", token " << id << ": " << have << " for " << want;
    }
  }
}

TEST(TokenRules, WhatCannotBeIsRefused) {
  const auto refused = [](const TokenRules& rules) { EXPECT_THROW(rules.validate(4), Error); };
  refused({.bias = {{4, 1.0f}}});
  refused({.bias = {{0, std::nanf("")}}});
  refused({.allowed = {-1}});
  refused({.allowed = {2, 1}});
  refused({.allowed = {1, 1}});
  refused({.withheld = {4}});
  refused({.allowed = {2}, .withheld = {2}, .min_tokens = 1});
  refused({.repetition_penalty = 0});
  refused({.frequency_penalty = std::numeric_limits<double>::infinity()});
  EXPECT_NO_THROW((TokenRules{.allowed = {1, 2}, .withheld = {2}, .min_tokens = 1}.validate(4)));
  EXPECT_TRUE(TokenRules{}.empty());
  EXPECT_TRUE((TokenRules{.withheld = {1}}.empty()));
  EXPECT_FALSE((TokenRules{.withheld = {1}, .min_tokens = 1}.empty()));
}

TEST(TokenRules, RowsAreDrawnAfterThemAndOthersAsBefore) {
  const std::vector<float> logits = {1, 3, 2};
  const Ids generated = {1};
  const SamplingOptions plain,
      biased{.rules = std::make_shared<const TokenRules>(TokenRules{.presence_penalty = 2})};
  std::vector<int32_t> tokens(2);
  const std::vector<SampleRow> rows = {
      {.logits = logits, .options = &biased, .generated = generated},
      {.logits = logits, .options = &plain}};
  sample_rows(rows, tokens, Context::machine());
  EXPECT_EQ(tokens, (Ids{2, 1}));
  EXPECT_EQ(logits, (std::vector<float>{1, 3, 2}));
}

}  // namespace
}  // namespace reprise::engine
