// Tests salts in the prompts of every source: what may be shared is still shared, and nothing else
// is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/workloads/serving/sample_sources.h"

namespace reprise::workloads {
namespace {

using model::TempDir;

std::unique_ptr<RequestSource> salted(const SampleSource& sample, SaltScope scope,
                                      uint64_t nonce = 1) {
  SourceOptions options = sample.options;
  options.salt = {.scope = scope, .nonce = nonce};
  return make_request_source(sample.name, options);
}

bool takes_caps(const std::string& name) {
  const auto sources = known_request_sources();
  const auto found = std::find_if(sources.begin(), sources.end(),
                                  [&](const SourceInfo& info) { return info.name == name; });
  return std::count(found->fields.begin(), found->fields.end(), "most_prompt_tokens") > 0;
}

// The order, lengths and sharing of requests do not depend on the nonce, but their prompts do.
TEST(Salts, AnotherNonceGivesOtherPromptsOfTheSameShape) {
  const TempDir dir;
  for (const SampleSource& sample : sample_sources(dir, 1 << 20)) {
    const auto plain = make_request_source(sample.name, sample.options);
    const auto one = salted(sample, SaltScope::kRun, 1), other = salted(sample, SaltScope::kRun, 2);
    ASSERT_EQ(one->size(), plain->size()) << sample.name;
    for (int64_t i = 0; i < one->size(); ++i) {
      const ServingRequest before = plain->request(i), a = one->request(i), b = other->request(i);
      const int64_t longer = std::ssize(a.prompt) - std::ssize(before.prompt);
      EXPECT_TRUE(longer == 0 || longer == kSaltTokens) << sample.name << " request " << i;
      EXPECT_EQ(a.prompt.size(), b.prompt.size());
      EXPECT_EQ(a.output_tokens, before.output_tokens);
      EXPECT_EQ(a.prefix, before.prefix) << sample.name << " request " << i;
      // Texts that share nothing still share the salt.
      EXPECT_EQ(a.shared_tokens, i == 0 && a.prefix < 0 ? 0 : before.shared_tokens + longer)
          << sample.name << " request " << i;
      EXPECT_EQ(a.shared_tokens, b.shared_tokens);
      EXPECT_EQ(common_prefix(a.prompt, b.prompt), 0) << sample.name << " request " << i;
      EXPECT_EQ(common_prefix(a.prompt, before.prompt), 0) << sample.name << " request " << i;
    }
    const auto prefixes = one->prefixes();
    EXPECT_EQ(prefixes.size(), plain->prefixes().size());
    for (int64_t i = 0; i < one->size(); ++i)
      if (const ServingRequest request = one->request(i); request.prefix >= 0) {
        const auto& prefix = prefixes[static_cast<size_t>(request.prefix)].tokens;
        EXPECT_EQ(common_prefix(prefix, request.prompt), std::ssize(prefix)) << sample.name;
      }
  }
}

TEST(Salts, RequestsOfTheirOwnShareNothing) {
  const TempDir dir;
  for (const SampleSource& sample : sample_sources(dir, 1 << 20)) {
    const auto source = salted(sample, SaltScope::kRequest);
    EXPECT_TRUE(source->prefixes().empty());
    for (int64_t i = 0; i < source->size(); ++i) {
      const ServingRequest request = source->request(i);
      EXPECT_EQ(request.prefix, -1);
      EXPECT_EQ(request.shared_tokens, 0) << sample.name << " request " << i;
      EXPECT_EQ(std::ssize(request.prompt), source->lengths(i).prompt);
    }
  }
}

TEST(Salts, SessionsShareTurnsAndNoSystemPrompt) {
  SourceOptions options;
  options.vocab = 1 << 20;
  options.conversations = 3;
  options.turns = 2;
  options.user_tokens = 5;
  options.output_tokens = 4;
  options.shared_tokens = 6;
  options.salt = {.scope = SaltScope::kSession, .nonce = 3};
  const auto source = make_request_source("conversations", options);
  ASSERT_EQ(source->size(), 6);
  for (int64_t i = 0; i < 6; ++i) {
    const ServingRequest request = source->request(i);
    const bool is_first = std::ssize(request.prompt) == kSaltTokens + 6 + 5;
    EXPECT_EQ(request.shared_tokens, is_first ? 0 : kSaltTokens + 6 + 5) << i;
    EXPECT_EQ(request.prefix, -1);
  }
}

TEST(Salts, CountAmongTheTokensThatACapAllows) {
  const TempDir dir;
  for (SampleSource sample : sample_sources(dir, 1000)) {
    if (!takes_caps(sample.name)) continue;
    sample.options.most_prompt_tokens = 20;
    sample.options.too_long = "cut";
    const auto source = salted(sample, SaltScope::kRequest);
    for (int64_t i = 0; i < source->size(); ++i)
      EXPECT_LE(std::ssize(source->request(i).prompt), 20) << sample.name;
  }
}

// Some sources draw requests until they have as many as are asked for. Requests that are too long
// only because of their salt must not count among these.
TEST(Salts, ACapLeavesAsManyRequestsAsAreAskedFor) {
  const TempDir dir;
  dir.write("letters_test.csv", "B?,a,b,c,d,A\nB C?,a,b,c,d,A\nB C D?,a,b,c,d,A\n");
  dir.write("a-dataset.json", kServeGenLengths);
  const auto chat = [](const char* prompt) {
    return fmt::format(R"({{"conversations": [{{"from": "human", "value": "{}"}},
                           {{"from": "gpt", "value": "A B C D"}}]}})",
                       prompt);
  };
  const auto chats = dir.write("chats.json", fmt::format("[{}, {}, {}]", chat("A B C D"),
                                                         chat("A B C D E"), chat("A B C D E F")));
  SampleSource samples[] = {
      {"sharegpt", {.file = chats}},
      {"sharegpt", {.file = chats, .shared_tokens = 7}},
      {"mmlu", {.file = dir.path(), .shots = 0}},
      {"servegen", {.file = dir.write("a-trace.csv", kServeGenTrace), .requests = 80}}};
  for (SampleSource& sample : samples) {
    sample.options.vocab = 1000;
    sample.options.tokenizer = sample_tokenizer;
    for (const SaltScope scope : {SaltScope::kRun, SaltScope::kRequest}) {
      const auto all = salted(sample, scope);
      int64_t shortest = all->lengths(0).prompt;
      for (int64_t i = 1; i < all->size(); ++i)
        shortest = std::min(shortest, all->lengths(i).prompt);
      SampleSource capped = sample;
      capped.options.requests = 1;
      capped.options.most_prompt_tokens = shortest;
      for (uint64_t seed = 1; seed <= 16; ++seed) {
        capped.options.prompts_seed = seed;
        EXPECT_NO_THROW((void)salted(capped, scope)) << sample.name << ", seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace reprise::workloads
