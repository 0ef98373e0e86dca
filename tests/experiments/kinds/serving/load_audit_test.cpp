// Tests which servers an audit catches, and which it passes.
#include "experiments/kinds/serving/load_audit.h"

#include <gtest/gtest.h>

#include <set>

#include "experiments/serving/run.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/experiments/serving/simulated_server.h"

namespace reprise::server {
namespace {

namespace serving = experiments::serving;
using serving::Keeps;
using workloads::SaltScope;

// Requests with one prompt whose tokens are all different.
class BaseSource final : public workloads::RequestSource {
 public:
  int32_t prompt_tokens = 64;
  int64_t output_tokens = 8;

  [[nodiscard]] int64_t size() const override { return 3; }
  [[nodiscard]] workloads::ServingRequest request(int64_t) const override {
    workloads::ServingRequest request{.output_tokens = output_tokens};
    for (int32_t i = 0; i < prompt_tokens; ++i) request.prompt.push_back(i);
    return request;
  }
  [[nodiscard]] Lengths lengths(int64_t) const override { return {prompt_tokens, output_tokens}; }
};

Audit audit_of(const serving::SimulatedOptions& options, const BaseSource& source) {
  serving::FakeClock clock;
  serving::SimulatedServer server(clock, options);
  return audit(server, *audit_prompts(source, SaltScope::kRun, /*seed=*/3), clock, /*stop=*/false);
}

serving::Verdict audited(const serving::SimulatedOptions& options, SaltScope scope,
                         bool is_sent_before = false) {
  serving::FakeClock clock;
  serving::SimulatedServer server(clock, options);
  if (is_sent_before) {
    const auto schedule = workloads::make_schedule("closed", {}, 3);
    (void)serving::run(server, BaseSource(), schedule,
                       {.rules = {.least_duration_s = 0, .least_requests = 1}}, clock);
  }
  const Audit found =
      audit(server, *audit_prompts(BaseSource(), scope, /*seed=*/3), clock, /*stop=*/false);
  return judge_audit(found, scope);
}

TEST(LoadAudit, NewPromptsAreNewAndRepeatedOnesOnlyHaveAnotherSalt) {
  for (const bool salted : {false, true}) {
    const auto prompts =
        audit_prompts(BaseSource(), salted ? SaltScope::kRequest : SaltScope::kRun, /*seed=*/5);
    ASSERT_EQ(prompts->size(), 2 * kAuditPairs + 1);
    std::set<std::vector<int32_t>> all, tails;
    for (int64_t i = 0; i < prompts->size(); ++i) {
      const std::vector<int32_t> prompt = prompts->request(i).prompt;
      ASSERT_EQ(prompt.size(), 64u);
      EXPECT_EQ(prompt.front(), 0);
      all.insert(prompt);
      if (i % 2 == 0) tails.emplace(prompt.begin() + 1 + workloads::kSaltTokens, prompt.end());
    }
    EXPECT_EQ(tails.size(), 1u);
    EXPECT_EQ(std::ssize(all), salted ? 2 * kAuditPairs + 1 : kAuditPairs + 1);
  }
  BaseSource short_ones;
  short_ones.prompt_tokens = 31;
  model::expect_error([&] { (void)audit_prompts(short_ones, SaltScope::kRun, 1); },
                      {"at least 32", "31"});
}

TEST(LoadAudit, AServerThatComputesPasses) {
  for (const SaltScope scope : {SaltScope::kAnything, SaltScope::kRun, SaltScope::kRequest}) {
    const serving::Verdict verdict = audited({}, scope);
    EXPECT_TRUE(verdict.is_valid());
    EXPECT_NE(verdict.reservations.at(0).find("1.00 times as soon"), std::string::npos);
  }
}

TEST(LoadAudit, PromptsMayBeKeptWhereTheyMayBeFound) {
  const serving::Verdict verdict = audited({.keeps = Keeps::kPrompts}, SaltScope::kRun);
  EXPECT_TRUE(verdict.is_valid());
  EXPECT_NE(verdict.reservations.at(0).find("10.00 times as soon"), std::string::npos);
  EXPECT_NE(verdict.reservations.at(0).find("further tokens 1.00 times"), std::string::npos);
}

TEST(LoadAudit, KeptAnswersAreFoundOut) {
  for (const SaltScope scope : {SaltScope::kRun, SaltScope::kAnything}) {
    const serving::Verdict verdict = audited({.keeps = Keeps::kAnswers}, scope);
    ASSERT_FALSE(verdict.is_valid());
    EXPECT_NE(verdict.reasons.at(0).find("keeps answers"), std::string::npos);
  }
}

// If all tokens come with the first, the client cannot tell a stored answer from a kept prompt.
TEST(LoadAudit, NoRatioIsToldOfFurtherTokensThatComeWithTheFirst) {
  BaseSource of_one_token;
  of_one_token.output_tokens = 1;
  for (const Audit& found : {audit_of({.keeps = Keeps::kAnswers}, of_one_token),
                             audit_of({.gap_s = 0, .keeps = Keeps::kAnswers}, BaseSource())}) {
    EXPECT_FALSE(found.further_tokens.is_known());
    EXPECT_FALSE(fields_of(found).contains("further_tokens_ratio"));
    EXPECT_TRUE(fields_of(found).contains("first_token_ratio"));
    const serving::Verdict verdict = judge_audit(found, SaltScope::kRun);
    EXPECT_TRUE(verdict.is_valid());
    EXPECT_NE(verdict.reservations.at(0).find("10.00 times as soon"), std::string::npos);
    EXPECT_NE(verdict.reservations.at(0).find("it cannot be told whether further tokens"),
              std::string::npos);
    EXPECT_FALSE(judge_audit(found, SaltScope::kRequest).is_valid());  // the first token decides
  }
}

// After a run, the server's cache answers all of the run's prompts. An audit that tried these
// prompts alone would find no answer slower than another, and pass.
TEST(LoadAudit, KeptAnswersAreFoundOutAfterARunThatWarmedTheCache) {
  EXPECT_FALSE(audited({.keeps = Keeps::kAnswers}, SaltScope::kAnything, /*is_sent_before=*/true)
                   .is_valid());
}

TEST(LoadAudit, WhoLooksBehindTheSaltIsFoundOut) {
  constexpr size_t kSalt = 1 + workloads::kSaltTokens;
  for (const SaltScope scope : {SaltScope::kRequest, SaltScope::kSession}) {
    const serving::Verdict prompts = audited({.keeps = Keeps::kPrompts, .ignored = kSalt}, scope);
    ASSERT_FALSE(prompts.is_valid());
    EXPECT_NE(prompts.reasons.at(0).find("after another salt"), std::string::npos);
    EXPECT_FALSE(audited({.keeps = Keeps::kAnswers, .ignored = kSalt}, scope).is_valid());
    EXPECT_TRUE(audited({.keeps = Keeps::kAnswers}, scope).is_valid());
  }
}

TEST(LoadAudit, FailedRequestsAreItsFailure) {
  const serving::Verdict verdict = audited({.fail_every = 5}, SaltScope::kRun);
  ASSERT_FALSE(verdict.is_valid());
  EXPECT_NE(verdict.reasons.at(0).find("status 500"), std::string::npos);
}

// The first request belongs to no pair. It is the only one of the second audit that fails here.
TEST(LoadAudit, AFailedFirstRequestIsItsFailure) {
  serving::FakeClock clock;
  serving::SimulatedServer server(clock, {.fail_every = 2 * kAuditPairs + 2});
  const auto prompts = audit_prompts(BaseSource(), SaltScope::kRun, /*seed=*/3);
  EXPECT_EQ(audit(server, *prompts, clock, /*stop=*/false).failure, "");
  EXPECT_EQ(audit(server, *prompts, clock, /*stop=*/false).failure, "status 500");
}

}  // namespace
}  // namespace reprise::server
