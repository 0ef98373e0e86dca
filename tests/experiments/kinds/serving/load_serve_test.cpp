// Runs whole workloads with the load client against our own server, which serves the shipped model,
// over real connections.
#include <gtest/gtest.h>

#include "experiments/kinds/serving/load_client.h"
#include "experiments/serving/metrics.h"
#include "experiments/serving/run.h"
#include "tests/server/quickstart_server.h"
#include "workloads/arrivals.h"
#include "workloads/serving/registry.h"

namespace reprise::server {
namespace {

namespace serving = experiments::serving;

// Prompts of 40 tokens, of which 32 are common to all; 8 tokens are generated.
std::unique_ptr<workloads::RequestSource> shared_prompts(int64_t requests) {
  workloads::SourceOptions options;
  options.vocab = 256;
  options.requests = requests;
  options.prompt_tokens = 40;
  options.shared_tokens = 32;
  options.output_tokens = 8;
  return workloads::make_request_source("grid", options);
}

serving::RunResult load(const QuickstartServer& server, LoadOptions options, double rate_rps,
                        serving::RunOptions run_options = {}) {
  options.place.url = "http://127.0.0.1:" + std::to_string(server.port());
  const serving::SteadyClock clock;
  const auto source = shared_prompts(24);
  const ServerFacts facts =
      ask_server(options, {source->request(0).prompt.front()}, clock, /*stop=*/false);
  EXPECT_EQ(facts.model, server.name());
  EXPECT_TRUE(facts.takes_extensions);
  EXPECT_TRUE(facts.tells_cached_tokens);
  const auto target = make_server_target(options, facts, clock);
  const auto schedule = workloads::make_schedule("poisson", {.rate_rps = rate_rps}, source->size());
  run_options.rules = {.least_duration_s = 0, .least_requests = 1, .most_late_s = 10};
  return serving::run(*target, *source, schedule, run_options, clock);
}

// Options for prompts in a form that needs the server's tokenizer.
LoadOptions options_for(const QuickstartServer& server, PromptForm form) {
  return {.form = form,
          .tokenizer = std::shared_ptr<const Tokenizer>(&server.tokenizer(), [](auto*) {})};
}

TEST(LoadServe, EveryRequestIsServedToItsLastToken) {
  const QuickstartServer server;
  const auto shared = [](const workloads::ServingRequest& request, const serving::RequestEntry&) {
    return serving::ReuseBounds{0, request.shared_tokens};
  };
  const serving::RunResult result = load(server, {}, 200, {.primes = true, .reuse = shared});
  EXPECT_TRUE(result.verdict.is_valid()) << result.verdict.reasons.front();
  ASSERT_EQ(result.log.requests.size(), 24u);
  for (const serving::RequestEntry& entry : result.log.requests) {
    EXPECT_EQ(entry.outcome, serving::Outcome::kServed) << entry.reason;
    EXPECT_EQ(entry.token_s.size(), 8u);
  }
}

TEST(LoadServe, PromptsMayBeSentAsText) {
  const QuickstartServer server;
  const serving::RunResult result = load(server, options_for(server, PromptForm::kText), 200);
  EXPECT_TRUE(result.verdict.is_valid()) << result.verdict.reasons.front();
}

TEST(LoadServe, PromptsMayBeSentAsChats) {
  const QuickstartServer server;
  const serving::RunResult result = load(server, options_for(server, PromptForm::kChat), 200);
  EXPECT_TRUE(result.verdict.is_valid()) << result.verdict.reasons.front();
  for (const serving::RequestEntry& entry : result.log.requests) {
    EXPECT_EQ(entry.token_s.size(), 8u);
    EXPECT_EQ(entry.tokens.size(), 8u);  // serve tells the ids
    EXPECT_EQ(entry.reasoning_tokens, 0);
  }
}

TEST(LoadServe, ConversationsGoOnWithTheServersAnswers) {
  const QuickstartServer server;
  workloads::SourceOptions of_source;
  of_source.vocab = 256;
  of_source.conversations = 4;
  of_source.turns = 3;
  of_source.user_tokens = 8;
  of_source.output_tokens = 6;
  const auto source = workloads::make_request_source("conversations", of_source);
  LoadOptions options;
  options.place.url = "http://127.0.0.1:" + std::to_string(server.port());
  const serving::SteadyClock clock;
  const ServerFacts facts =
      ask_server(options, {source->request(0).prompt.front()}, clock, /*stop=*/false);
  const auto target = make_server_target(options, facts, clock);
  const auto schedule = workloads::make_schedule(
      "sessions", {.most_in_flight = 2, .waits_for = source->waits_for()}, source->size());
  const serving::RunResult result = serving::run(
      *target, *source, schedule,
      {.rules = {.least_duration_s = 0, .least_requests = 1, .most_late_s = 10}}, clock);
  EXPECT_TRUE(result.verdict.is_valid()) << result.verdict.reasons.front();
  EXPECT_EQ(result.own_answers, 4 * (1 + 2));
  EXPECT_EQ(result.invented_answers, 0);
}

TEST(LoadServe, WhatAFullServerRefusesIsCounted) {
  QuickstartOptions small;
  small.max_batch = 1;
  small.server.service.most_requests = 2;
  const QuickstartServer server(small);
  const serving::RunResult result = load(server, {}, 1e5);
  int64_t refused = 0;
  for (const serving::RequestEntry& entry : result.log.requests)
    if (entry.outcome != serving::Outcome::kServed) {
      EXPECT_TRUE(entry.reason.starts_with("status 429")) << entry.reason;
      ++refused;
    }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 24);
  EXPECT_FALSE(result.verdict.is_valid());
}

}  // namespace
}  // namespace reprise::server
