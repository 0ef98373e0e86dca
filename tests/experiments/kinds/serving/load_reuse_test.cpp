// Tests how a server's cached tokens are judged, and how its counters are read.
#include "experiments/kinds/serving/load_reuse.h"

#include <gtest/gtest.h>

#include "tests/experiments/serving/simulated_server.h"

namespace reprise::server {
namespace {

namespace serving = experiments::serving;

TEST(ServerCounters, AreReadFromAnyKnownServer) {
  const auto vllm = prompt_counters(
      "# HELP vllm:prefix_cache_queries_total Prefix cache queries\n"
      "# TYPE vllm:prefix_cache_queries_total counter\n"
      "vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"a}b\"} 1.5e+03\n"
      "vllm:prefix_cache_queries_total{engine=\"1\",model_name=\"a}b\"} 500 1700000000\n"
      "vllm:prefix_cache_queries_created{engine=\"0\"} 9\n"
      "vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"a}b\"} 300.0");
  ASSERT_TRUE(vllm);
  EXPECT_EQ(vllm->prompt_tokens, 2000);
  EXPECT_EQ(vllm->cached_tokens, 300);
  const auto sglang = prompt_counters(
      "sglang:prompt_tokens_total{model_name=\"m\"} 70\r\n"
      "sglang:cached_tokens_total{cache_source=\"device\"} 20\r\n"
      "sglang:cached_tokens_total{cache_source=\"host\"} 5\r\n");
  ASSERT_TRUE(sglang);
  EXPECT_EQ(sglang->cached_tokens, 25);
  // Dynamo's counters are histograms. Their sums are the tokens of all requests.
  const auto dynamo = prompt_counters(
      "dynamo_frontend_cached_tokens_bucket{model=\"m\",le=\"100\"} 2\n"
      "dynamo_frontend_cached_tokens_sum{model=\"m\"} 96\n"
      "dynamo_frontend_input_sequence_tokens_sum{model=\"m\"} 640\n"
      "dynamo_frontend_input_sequence_tokens_count{model=\"m\"} 2\n");
  ASSERT_TRUE(dynamo);
  EXPECT_EQ(dynamo->prompt_tokens, 640);
  EXPECT_EQ(dynamo->cached_tokens, 96);
  const auto ours =
      prompt_counters("reprise_prompt_tokens_total 40\nreprise_cached_prompt_tokens_total 16\n");
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->prompt_tokens, 40);
  EXPECT_EQ(ours->cached_tokens, 16);
}

TEST(ServerCounters, AreAbsentWhereNoneIsKnown) {
  for (const char* text :
       {"", "\n\n", "other_total 3", "vllm:prefix_cache_queries_total",
        "vllm:prefix_cache_queries_total{a=\"b\" 3", "vllm:prefix_cache_queries_total nan",
        "vllm:prefix_cache_queries_total{} x", "<html>vllm:prefix_cache_queries_total 3</html>"})
    EXPECT_FALSE(prompt_counters(text)) << text;
}

// Requests of 8 tokens that share nothing. The server found `cached` of the 8; a token comes every
// 10 ms, from `ttft_s` on.
serving::RunResult result_of(int64_t requests, int64_t cached, double ttft_s = 0.01) {
  serving::RunResult result;
  for (int64_t i = 0; i < requests; ++i) {
    const double at_s = static_cast<double>(i);
    result.log.requests.push_back({.index = i,
                                   .intended_s = at_s,
                                   .sent_s = at_s,
                                   .token_s = {at_s + ttft_s, at_s + ttft_s + 0.01},
                                   .done_s = at_s + ttft_s + 0.01,
                                   .prompt_tokens = 8,
                                   .wanted_tokens = 2,
                                   .cached_tokens = cached});
  }
  return result;
}

serving::EvenSource source_of(int64_t requests) {
  serving::EvenSource source;
  source.count = requests;
  source.shared = 0;
  return source;
}

TEST(LoadReuse, EachRequestMayFindTwoTokensMoreThanItShares) {
  serving::RunResult at_most = result_of(10, 2);
  EXPECT_EQ(judge_reuse(source_of(10), {}, 0, {}, at_most), "answers");
  EXPECT_TRUE(at_most.verdict.is_valid());
  EXPECT_TRUE(at_most.verdict.reservations.empty());
  serving::RunResult more = result_of(10, 2);
  more.log.requests[4].cached_tokens = 3;
  (void)judge_reuse(source_of(10), {}, 0, {}, more);
  EXPECT_FALSE(more.verdict.is_valid());
}

TEST(LoadReuse, NobodyTellsOfARunThatServedNothing) {
  serving::RunResult result = result_of(10, -1);
  for (serving::RequestEntry& entry : result.log.requests)
    entry.outcome = serving::Outcome::kFailed;
  EXPECT_EQ(judge_reuse(source_of(10), {}, 0, {}, result), "nobody");
  EXPECT_EQ(result.verdict.reservations.at(0), "reuse is not observable: no request was served");
}

// A chat's template is the same in all prompts, so a server may find its tokens in the cache.
TEST(LoadReuse, AChatMayFindItsTemplateToo) {
  for (const SentAs& sent_as : {SentAs{PromptForm::kChat, 5}, SentAs{PromptForm::kText}}) {
    serving::RunResult result = result_of(10, 7);
    for (serving::RequestEntry& entry : result.log.requests)
      entry.prompt_tokens = 13;  // 8 were sent
    (void)judge_reuse(source_of(10), {}, 0, sent_as, result);
    EXPECT_EQ(result.verdict.is_valid(), sent_as.form == PromptForm::kChat);
    for (serving::RequestEntry& entry : result.log.requests) entry.cached_tokens = 8;
    result.verdict = {};
    (void)judge_reuse(source_of(10), {}, 0, sent_as, result);
    EXPECT_FALSE(result.verdict.is_valid());
  }
}

// The server may make fewer tokens of the texts than they were decoded from. Then its count is no
// larger than that of the tokens sent, although it includes the template.
TEST(LoadReuse, ATemplateIsFoundAlsoWhereTextsShrink) {
  serving::RunResult result = result_of(10, 5);  // the server counts 8, of which 5 of the template
  (void)judge_reuse(source_of(10), {}, 0, {PromptForm::kChat, 5}, result);
  EXPECT_TRUE(result.verdict.is_valid());
  EXPECT_EQ(judge_reuse(source_of(10), {}, 0, {PromptForm::kChat, -1}, result), "nobody");
  EXPECT_TRUE(result.verdict.is_valid());
  EXPECT_NE(result.verdict.reservations.at(0).find("its chat template adds"), std::string::npos);
}

TEST(LoadReuse, SharedTokensAreTheServers) {
  serving::EvenSource source = source_of(10);
  source.shared = 6;  // of 8
  serving::RunResult result = result_of(10, 9);
  for (serving::RequestEntry& entry : result.log.requests) entry.prompt_tokens = 12;
  (void)judge_reuse(source, {}, 0, {PromptForm::kText}, result);
  EXPECT_TRUE(result.verdict.is_valid());
  for (serving::RequestEntry& entry : result.log.requests) entry.cached_tokens = 12;
  (void)judge_reuse(source, {}, 0, {PromptForm::kText}, result);
  EXPECT_FALSE(result.verdict.is_valid()) << "whole prompts";
}

// The answers do not report how many tokens the server made of a text, but its counters do.
TEST(LoadReuse, ATextMayHaveMoreTokensThanWereDecoded) {
  const auto is_valid = [](double cached) {
    const CountersAround around{.before = PromptCounters{0, 0},
                                .after = PromptCounters{104, cached}};
    serving::RunResult result = result_of(10, -1);  // 80 tokens
    EXPECT_EQ(judge_reuse(source_of(10), around, 0, {PromptForm::kText}, result), "counters");
    return result.verdict.is_valid();
  };
  EXPECT_TRUE(is_valid(26));
  EXPECT_FALSE(is_valid(27));
}

TEST(LoadReuse, CountersCountForWholeRunsOnly) {
  const CountersAround around{.before = PromptCounters{100, 50}, .after = PromptCounters{196, 60}};
  serving::RunResult alone = result_of(10, -1);  // 80 tokens, and 16 of a warm-up
  EXPECT_EQ(judge_reuse(source_of(10), around, 16, {}, alone), "counters");
  EXPECT_TRUE(alone.verdict.is_valid());
  const auto reservation = [&](const CountersAround& counters, bool one_fails) {
    serving::RunResult result = result_of(10, -1);
    if (one_fails) result.log.requests[3].outcome = serving::Outcome::kFailed;
    EXPECT_EQ(judge_reuse(source_of(10), counters, 16, {}, result), "nobody");
    EXPECT_TRUE(result.verdict.is_valid());
    return result.verdict.reservations.empty() ? "" : result.verdict.reservations.front();
  };
  EXPECT_EQ(reservation(around, true),
            "reuse is not observable: the server's counters include requests that failed");
  EXPECT_NE(reservation({}, false).find("neither the server's answers"), std::string::npos);
  EXPECT_NE(reservation({.before = PromptCounters{100, 50}, .after = PromptCounters{90, 50}}, false)
                .find("started anew"),
            std::string::npos);
  EXPECT_NE(reservation({.before = PromptCounters{0, 0}, .after = PromptCounters{960, 5}}, false)
                .find("others to serve"),
            std::string::npos);
  // The counters are those of one of two engines behind a router.
  EXPECT_NE(reservation({.before = PromptCounters{0, 0}, .after = PromptCounters{48, 0}}, false)
                .find("they do not count all prompts"),
            std::string::npos);
}

TEST(LoadReuse, ATextMayHaveFewerTokensThanWereDecoded) {
  const CountersAround around{.before = PromptCounters{0, 0}, .after = PromptCounters{70, 0}};
  for (const PromptForm form : {PromptForm::kTokenIds, PromptForm::kText, PromptForm::kChat}) {
    serving::RunResult result = result_of(10, -1);  // 80 tokens
    EXPECT_EQ(judge_reuse(source_of(10), around, 0, {form}, result),
              form == PromptForm::kTokenIds ? "nobody" : "counters");
  }
}

TEST(LoadReuse, SaysWhatChangedWithinARun) {
  EXPECT_TRUE(changes_within(result_of(40, 0).log).empty());
  serving::RequestLog warming = result_of(40, 0).log;
  for (size_t i = 0; i < 10; ++i) warming.requests[i].token_s = {i + 0.5, i + 0.6};
  ASSERT_EQ(changes_within(warming).size(), 1u);
  EXPECT_NE(changes_within(warming)[0].find("50.0 times the last's"), std::string::npos);
  serving::RequestLog filling = result_of(40, 0).log;
  for (size_t i = 30; i < 40; ++i) filling.requests[i].cached_tokens = 4;
  ASSERT_EQ(changes_within(filling).size(), 1u);
  EXPECT_NE(changes_within(filling)[0].find("from 0.00 in the first quarter to 0.50"),
            std::string::npos);
  filling.requests.resize(31);
  EXPECT_TRUE(changes_within(filling).empty()) << "too few to tell";
}

}  // namespace
}  // namespace reprise::server
