#include "experiments/kinds/serving/load_audit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"
#include "experiments/serving/run.h"
#include "results/rank_test.h"
#include "workloads/arrivals.h"

namespace reprise::server {

namespace serving = experiments::serving;
using workloads::SaltScope;
using workloads::ServingRequest;

namespace {

constexpr int64_t kLeastPromptTokens = 4 * workloads::kSaltTokens;
// Largest tolerated ratio of the time to first token of new prompts to that of repeated prompts. As
// in TEST04, a difference of a tenth may come from a machine that has warmed up.
constexpr double kSoonerTolerated = 1.1;
// Largest tolerated ratio of the time of further tokens after new prompts to that after repeated
// prompts. Stored answers come at the rate of the network, and their ratio is far larger. Computed
// answers may come faster after a short prefill than after a long one, because a busy system gives
// less time to a process that has just used much (1.9 times faster from llama-server on cores
// shared with other programs).
constexpr double kFasterTolerated = 2;
constexpr double kAlpha = 0.01;
constexpr size_t kLeastPairs = 8;      // with fewer, the interval at kAlpha is unbounded
constexpr double kLeastTime_s = 1e-6;  // shorter times are those of tokens that came at once

// Number of leading tokens that are not shuffled: the first may be a token with which every prompt
// must begin.
constexpr size_t kFixed = 1;

class AuditPrompts final : public workloads::RequestSource {
 public:
  AuditPrompts(ServingRequest base, bool salted, uint64_t seed)
      : base_(std::move(base)), salted_(salted), seed_(seed) {}

  [[nodiscard]] int64_t size() const override { return 2 * kAuditPairs + 1; }
  [[nodiscard]] Lengths lengths(int64_t) const override {
    return {std::ssize(base_.prompt), base_.output_tokens};
  }
  [[nodiscard]] ServingRequest request(int64_t index) const override {
    ServingRequest request{.output_tokens = base_.output_tokens};
    const bool is_new = index % 2 == 1;
    const std::vector<int32_t> other = shuffled(index);
    request.prompt = is_new ? other : base_.prompt;
    if (!is_new && salted_)
      std::copy_n(other.begin() + kFixed, workloads::kSaltTokens, request.prompt.begin() + kFixed);
    return request;
  }

 private:
  [[nodiscard]] std::vector<int32_t> shuffled(int64_t index) const {
    std::vector<int32_t> prompt = base_.prompt;
    for (size_t i = prompt.size() - 1; i > kFixed; --i) {
      const uint64_t bits = random_bits(seed_, static_cast<uint64_t>(index), i);
      std::swap(prompt[i], prompt[kFixed + bits % (i + 1 - kFixed)]);
    }
    return prompt;
  }

  ServingRequest base_;
  bool salted_;
  uint64_t seed_;
};

// Returns the request with the most output, which shows best whether tokens are computed.
ServingRequest longest_answer(const workloads::RequestSource& source) {
  constexpr int64_t kMostLookedAt = 256;
  int64_t best = 0;
  for (int64_t i = 1; i < std::min(source.size(), kMostLookedAt); ++i)
    if (source.lengths(i).output > source.lengths(best).output) best = i;
  return source.request(best);
}

AuditRatio ratio_of(const std::vector<double>& logs) {
  if (logs.size() < kLeastPairs) return {};
  const results::Shift shift = results::paired_shift(logs, kAlpha);
  return {.estimate = std::exp(shift.estimate),
          .low = std::exp(shift.low),
          .high = std::exp(shift.high)};
}

double log_ratio(double new_s, double repeated_s) {
  return std::log(std::max(new_s, kLeastTime_s) / std::max(repeated_s, kLeastTime_s));
}

double further_s(const serving::RequestEntry& entry) {
  return entry.token_s.back() - entry.token_s.front();
}

bool may_find_repeated(SaltScope scope) {
  return scope == SaltScope::kAnything || scope == SaltScope::kRun;
}

}  // namespace

std::unique_ptr<workloads::RequestSource> audit_prompts(const workloads::RequestSource& source,
                                                        SaltScope scope, uint64_t seed) {
  ServingRequest base = longest_answer(source);
  if (std::ssize(base.prompt) < kLeastPromptTokens)
    raise("the audit needs prompts of at least {} tokens, the longest answer's has {}",
          kLeastPromptTokens, base.prompt.size());
  return std::make_unique<AuditPrompts>(std::move(base), !may_find_repeated(scope), seed);
}

Audit audit(serving::Target& target, const workloads::RequestSource& prompts,
            const serving::Clock& clock, const std::atomic<bool>& stop) {
  const auto schedule = workloads::make_schedule("closed", {.most_in_flight = 1}, prompts.size());
  const serving::RunResult result =
      serving::run(target, prompts, schedule,
                   {.rules = {.least_duration_s = 0,
                              .least_requests = 1,
                              .most_late_s = std::numeric_limits<double>::infinity(),
                              .is_open_loop = false},
                    .stop = &stop},
                   clock);
  Audit audit;
  for (const serving::RequestEntry& entry : result.log.requests)
    if (entry.outcome != serving::Outcome::kServed) {
      audit.failure = entry.reason;
      return audit;
    }
  std::vector<double> first, further;
  for (size_t i = 1; i + 1 < result.log.requests.size(); i += 2) {
    const serving::RequestEntry &fresh = result.log.requests[i],
                                &repeated = result.log.requests[i + 1];
    first.push_back(log_ratio(fresh.token_s.front() - fresh.sent_s,
                              repeated.token_s.front() - repeated.sent_s));
    if (std::max(further_s(fresh), further_s(repeated)) > kLeastTime_s)
      further.push_back(log_ratio(further_s(fresh), further_s(repeated)));
  }
  audit.first_token = ratio_of(first);
  audit.further_tokens = ratio_of(further);
  return audit;
}

serving::Verdict judge_audit(const Audit& audit, SaltScope scope) {
  if (!audit.failure.empty())
    return {.reasons = {fmt::format("the audit's requests failed: {}", audit.failure)}};
  const AuditRatio &first = audit.first_token, &further = audit.further_tokens;
  if (further.low > kFasterTolerated)
    return {.reasons = {fmt::format(
                "the audit: prompts that were sent before are generated {:.2f} times as fast "
                "({:.2f} to {:.2f}): the server keeps answers",
                further.estimate, further.low, further.high)}};
  if (!may_find_repeated(scope) && first.low > kSoonerTolerated)
    return {.reasons = {fmt::format(
                "the audit: texts that were sent before after another salt have their first token "
                "{:.2f} times as soon ({:.2f} to {:.2f}), although nothing may be found",
                first.estimate, first.low, first.high)}};
  return {.reservations = {fmt::format(
              "the audit: a prompt that was sent before has its first token {:.2f} times as soon "
              "as a new one, {}",
              first.estimate,
              further.is_known()
                  ? fmt::format("further tokens {:.2f} times as fast", further.estimate)
                  : "and it cannot be told whether further tokens are computed: they come together "
                    "with the first, or there are none")}};
}

Fields fields_of(const Audit& audit) {
  Fields fields = {{"pairs", kAuditPairs}, {"failure", audit.failure}};
  const auto add = [&](const char* name, const AuditRatio& ratio) {
    if (ratio.is_known())
      fields[name] = Fields{{"estimate", ratio.estimate}, {"low", ratio.low}, {"high", ratio.high}};
  };
  add("first_token_ratio", audit.first_token);
  add("further_tokens_ratio", audit.further_tokens);
  return fields;
}

}  // namespace reprise::server
