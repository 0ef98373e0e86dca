// Tests made-up sources: shapes, shares of groups, trees, and what prompts have in common.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "tests/workloads/serving/sample_sources.h"
#include "workloads/random_tokens.h"
#include "workloads/serving/draws.h"
#include "workloads/serving/shared_prefixes.h"

namespace reprise::workloads {
namespace {

using serving::PromptPart;

// A prompt's tokens are those of the workload "random_tokens" of the same seed.
TEST(Grid, SharesThePrefixAndNoMore) {
  const auto source = make_sample("grid", {.prompts_seed = 5,
                                           .requests = 50,
                                           .prompt_tokens = 40,
                                           .shared_tokens = 24,
                                           .output_tokens = 7});
  const RandomTokens tokens({.vocab = 32000, .seed = 5});
  std::multiset<std::vector<int32_t>> expected, found;
  for (int64_t i = 0; i < 50; ++i) {
    std::vector<int32_t> prompt = tokens.prompt(-1, 24);
    const std::vector<int32_t> own = tokens.prompt(i, 16);
    prompt.insert(prompt.end(), own.begin(), own.end());
    expected.insert(prompt);
    const ServingRequest request = source->request(i);
    EXPECT_EQ(request.output_tokens, 7);
    EXPECT_EQ(request.prefix, 0);
    EXPECT_GE(request.shared_tokens, 24);
    EXPECT_LE(request.shared_tokens, 25);
    found.insert(request.prompt);
  }
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(make_sample("grid", {.requests = 2, .prompt_tokens = 4, .output_tokens = 7})
                  ->prefixes()
                  .empty());
  EXPECT_EQ(
      make_sample("grid",
                  {.requests = 2, .shared_tokens = 64, .user_tokens = 128, .output_tokens = 256})
          ->lengths(1)
          .prompt,
      64 + 128);
}

// Tests the places of earlier answers in a prompt, and the requests that they answered.
TEST(Conversations, TellWhereEarlierAnswersStand) {
  SourceOptions options{.user_tokens = 2,
                        .user_tokens_most = 5,
                        .output_tokens = 3,
                        .output_tokens_most = 6,
                        .conversations = 7,
                        .turns = 1,
                        .turns_most = 5};
  for (const int64_t most_prompt : {0, 14}) {
    options.most_prompt_tokens = most_prompt;  // longer turns are dropped
    const auto source = make_sample("conversations", options);
    const std::vector<std::vector<int64_t>> waits_for = source->waits_for();
    ASSERT_EQ(std::ssize(waits_for), source->size());
    int64_t answers = 0;
    for (int64_t i = 0; i < source->size(); ++i) {
      const ServingRequest request = source->request(i);
      std::vector<int64_t> expected;
      if (!request.answers.empty()) expected.push_back(request.answers.back().request);
      EXPECT_EQ(waits_for[static_cast<size_t>(i)], expected);
      EXPECT_EQ(request.session_tokens,
                request.answers.empty()
                    ? 0
                    : request.answers.back().first + request.answers.back().tokens);
      for (const EarlierAnswer& answer : request.answers) {
        const ServingRequest earlier = source->request(answer.request);
        EXPECT_LT(answer.request, i);
        EXPECT_EQ(answer.first, std::ssize(earlier.prompt));
        EXPECT_EQ(answer.tokens, earlier.output_tokens);
        EXPECT_TRUE(
            std::equal(earlier.prompt.begin(), earlier.prompt.end(), request.prompt.begin()));
        ++answers;
      }
    }
    EXPECT_GT(answers, 0);
  }
  EXPECT_TRUE(make_sample("grid", {.requests = 2, .prompt_tokens = 4, .output_tokens = 7})
                  ->waits_for()
                  .empty());
}

SourceOptions recombined(double novelty) {
  return {.requests = 200,
          .user_tokens = 3,
          .output_tokens = 2,
          .documents = 8,
          .document_tokens = 5,
          .picks = 3,
          .novelty = novelty};
}

// The documents with which a prompt begins.
std::vector<size_t> documents_of(const ServingRequest& request,
                                 const std::vector<std::vector<int32_t>>& modules) {
  std::vector<size_t> documents;
  for (auto at = request.prompt.begin(); at < request.prompt.begin() + request.module_tokens;
       at += 5)
    for (size_t i = 0; i < modules.size(); ++i)
      if (std::equal(modules[i].begin(), modules[i].end(), at)) documents.push_back(i);
  return documents;
}

TEST(Recombined, PromptsAreDifferentDocumentsOfThePool) {
  const auto source = make_sample("recombined", recombined(1));
  const std::vector<std::vector<int32_t>> modules = source->modules();
  ASSERT_EQ(modules.size(), 8u);
  std::set<std::vector<size_t>> combinations;
  for (int64_t i = 0; i < source->size(); ++i) {
    const ServingRequest request = source->request(i);
    EXPECT_EQ(request.module_tokens, 15);
    EXPECT_EQ(request.prompt.size(), 18u);
    const std::vector<size_t> documents = documents_of(request, modules);
    ASSERT_EQ(documents.size(), 3u);
    EXPECT_EQ(std::set(documents.begin(), documents.end()).size(), 3u);
    combinations.insert(documents);
  }
  // 200 draws of 336 combinations meet 151 of them on average.
  EXPECT_GT(combinations.size(), 125u);
  EXPECT_LT(combinations.size(), 175u);
}

TEST(Recombined, NoveltyIsTheShareOfNewCombinations) {
  const auto burst = make_sample("recombined", recombined(0));
  const std::vector<std::vector<int32_t>> modules = burst->modules();
  for (int64_t i = 1; i < burst->size(); ++i) {
    EXPECT_EQ(documents_of(burst->request(i), modules), documents_of(burst->request(0), modules));
    EXPECT_GE(burst->request(i).shared_tokens, 15);
  }
  // Every other request repeats an earlier one, so all its documents are found in their order.
  const auto half = make_sample("recombined", recombined(0.5));
  int64_t repeated = 0;
  for (int64_t i = 0; i < half->size(); ++i) repeated += half->request(i).shared_tokens >= 15;
  EXPECT_GT(repeated, 80);
  EXPECT_LT(repeated, 150);
}

TEST(Groups, AreDrawnInTheStatedShares) {
  constexpr int64_t kRequests = 20000, kGroups = 5;
  for (const double exponent : {0.0, 1.0, 2.5}) {
    const auto source = make_sample("groups", {.requests = kRequests,
                                               .shared_tokens = 3,
                                               .user_tokens = 2,
                                               .user_tokens_most = 4,
                                               .output_tokens = 1,
                                               .groups = kGroups,
                                               .zipf_exponent = exponent});
    std::map<int32_t, double> counts;
    std::map<int64_t, double> lengths;
    for (int64_t i = 0; i < kRequests; ++i) {
      counts[source->request(i).prefix] += 1;
      lengths[source->lengths(i).prompt] += 1;
    }
    double sum = 0;
    for (int64_t k = 1; k <= kGroups; ++k) sum += std::pow(k, -exponent);
    const auto near = [](double count, double share) {
      EXPECT_NEAR(count / kRequests, share, 5 * std::sqrt(share * (1 - share) / kRequests));
    };
    for (int32_t k = 1; k <= kGroups; ++k) near(counts[k - 1], std::pow(k, -exponent) / sum);
    ASSERT_EQ(lengths.size(), 3u);
    for (const auto& [length, count] : lengths) near(count, 1.0 / 3);
    EXPECT_EQ(source->prefixes().size(), static_cast<size_t>(kGroups));
  }
}

// The tree has 2 systems with 3 sets each, and each set has 4 documents. All prompts of a node
// begin with the same tokens; prompts of two nodes of a level do not.
TEST(Tree, HasThreeLevels) {
  const auto source = make_sample("tree", {.requests = 2000,
                                           .shared_tokens = 10,
                                           .user_tokens = 6,
                                           .output_tokens = 1,
                                           .groups = 2,
                                           .few_shots = 3,
                                           .few_shot_tokens = 8,
                                           .documents = 4,
                                           .document_tokens = 5});
  std::set<std::vector<int32_t>> systems, sets, documents;
  for (const ServingRequest& request : requests_of(*source)) {
    ASSERT_EQ(request.prompt.size(), 10u + 8 + 5 + 6);
    const auto begin = request.prompt.begin();
    systems.insert({begin, begin + 10});
    sets.insert({begin, begin + 18});
    documents.insert({begin, begin + 23});
  }
  EXPECT_EQ(systems.size(), 2u);
  EXPECT_EQ(sets.size(), 2u * 3);
  EXPECT_EQ(documents.size(), 2u * 3 * 4);
  ASSERT_EQ(source->prefixes().size(), 2u);
  EXPECT_EQ(source->prefixes()[0].tokens.size(), 10u);
}

// Each of the 24 orders of four items must occur equally often, and so must each of the 12 orders
// of their first two.
TEST(Permuted, OrdersAreAlike) {
  constexpr int kSeeds = 24000;
  std::map<std::vector<uint32_t>, double> whole, first;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::vector<uint32_t> order = serving::permuted(4, 4, seed, serving::Draw::kOrder);
    whole[order] += 1;
    order.resize(2);
    EXPECT_EQ(serving::permuted(4, 2, seed, serving::Draw::kOrder), order);
    first[order] += 1;
  }
  ASSERT_EQ(whole.size(), 24u);
  ASSERT_EQ(first.size(), 12u);
  for (const auto& [order, count] : whole) EXPECT_NEAR(count, 1000, 5 * std::sqrt(1000.0));
  for (const auto& [order, count] : first) EXPECT_NEAR(count, 2000, 5 * std::sqrt(2000.0));
  EXPECT_TRUE(serving::permuted(0, 0, 1, serving::Draw::kOrder).empty());
}

// Prompts of random parts: some have the same items, some have items cut short, and some texts
// happen to be equal.
TEST(LeadingTokensOfEarlier, AreThoseOfEveryPairCompared) {
  std::mt19937_64 random(7);
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
  const std::vector<int32_t> text = {0, 1, 1, 0, 2, 0, 1, 1, 0, 2};
  for (int round = 0; round < 200; ++round) {
    const serving::TokenStream stream{.seed = random(), .vocab = 1 + below(3)};
    std::vector<std::vector<PromptPart>> prompts(static_cast<size_t>(below(20)));
    for (std::vector<PromptPart>& prompt : prompts)
      for (int64_t part = below(4); part >= 0; --part) {
        if (below(3) == 0) {
          const int64_t at = below(10);
          prompt.push_back({.tokens = below(static_cast<uint64_t>(11 - at)), .text = &text[at]});
        } else {
          prompt.push_back({.item = below(4) - 2, .tokens = below(6)});
        }
      }
    const std::vector<int32_t> found = serving::leading_tokens_of_earlier(
        std::ssize(prompts),
        [&](int64_t request, std::vector<PromptPart>& out) {
          const auto& prompt = prompts[static_cast<size_t>(request)];
          out.insert(out.end(), prompt.begin(), prompt.end());
        },
        stream);
    for (size_t i = 0; i < prompts.size(); ++i) {
      const std::vector<int32_t> tokens = serving::tokens_of(prompts[i], stream);
      std::ptrdiff_t expected = 0;
      for (size_t j = 0; j < i; ++j) {
        const std::vector<int32_t> other = serving::tokens_of(prompts[j], stream);
        expected =
            std::max(expected,
                     std::mismatch(tokens.begin(), tokens.end(), other.begin(), other.end()).first -
                         tokens.begin());
      }
      ASSERT_EQ(found[i], expected) << "round " << round << " prompt " << i;
    }
  }
}

}  // namespace
}  // namespace reprise::workloads
