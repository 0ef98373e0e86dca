// Audits a server for answers that it does not compute: is a prompt that it has answered before
// answered sooner, or generated faster, than a new one of the same length?
//
// MLPerf Inference's TEST04 compares the rates of two runs, of many samples and of one. If the
// samples were sent before, a cache of answers makes both fast, and the test passes. Here new and
// repeated prompts take turns, and the new ones are drawn for the audit alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core/base/value.h"
#include "experiments/serving/clock.h"
#include "experiments/serving/target.h"
#include "experiments/serving/validity.h"
#include "workloads/serving/request_source.h"
#include "workloads/serving/salt.h"

namespace reprise::server {

inline constexpr int64_t kAuditPairs = 32;

// A time of new prompts over that of repeated ones, with its 99 % interval: the shift of paired
// logarithms (results/rank_test.h). 0: not known.
struct AuditRatio {
  double estimate = 0, low = 0, high = 0;
};

struct Audit {
  std::string failure;        // why there are no ratios; "": there are
  AuditRatio first_token;     // from sending to the first token
  AuditRatio further_tokens;  // from the first token to the last
};

// The 2 kAuditPairs + 1 prompts of an audit: one to be repeated, then in turn new and repeated
// ones. All have the length and nearly the tokens of one request, that with the most output among
// the first of `source`: new ones have them in an order drawn from `seed`. `scope` is the reuse
// that is allowed. If a repeated prompt may not be found, each begins with kSaltTokens other
// tokens, so that a cache of prompts cannot find it. Throws Error if the request's prompt is too
// short.
[[nodiscard]] std::unique_ptr<workloads::RequestSource> audit_prompts(
    const workloads::RequestSource& source, workloads::SaltScope scope, uint64_t seed);

// Sends the prompts of audit_prompts() one after another. Throws Interrupted when `stop` is set.
[[nodiscard]] Audit audit(experiments::serving::Target& target,
                          const workloads::RequestSource& prompts,
                          const experiments::serving::Clock& clock, const std::atomic<bool>& stop);

// Makes a run INVALID if repeated prompts were generated more than twice as fast (with the whole
// interval), or if they had their first token more than a tenth sooner although nothing may be
// found. Otherwise adds what was found as a reservation.
void judge_audit(const Audit& audit, workloads::SaltScope scope,
                 experiments::serving::Verdict& verdict);

// For the record.
[[nodiscard]] Fields fields_of(const Audit& audit);

}  // namespace reprise::server
