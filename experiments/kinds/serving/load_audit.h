// Audits whether a server returns stored answers instead of computing them. An audit measures
// whether a repeated prompt gets its first token sooner, or its further tokens faster, than a new
// prompt of the same length.
//
// MLPerf Inference's TEST04 compares the rates of two runs, one with many samples and one that
// repeats a single sample. If the samples were sent before the test, a cache of answers makes both
// runs fast, and the test passes. Here new and repeated prompts take turns, and the new prompts are
// drawn for the audit alone, so that no server can have seen them.
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

// Ratio of new prompts' times to repeated prompts' times, with its 99 % interval, estimated as the
// shift of paired logarithms (results/rank_test.h). All 0: not known.
struct AuditRatio {
  double estimate = 0, low = 0, high = 0;
  [[nodiscard]] bool is_known() const { return estimate > 0; }
};

struct Audit {
  std::string failure;     // the reason why there are no ratios; "": there are ratios
  AuditRatio first_token;  // from sending to the first token
  // From the first token to the last. Not known if further tokens come together with the first, as
  // in servers that send an answer in one event, or if answers have one token.
  AuditRatio further_tokens;
};

// Returns the 2 kAuditPairs + 1 prompts of an audit: the prompt to be repeated, then new and
// repeated prompts in turn. The repeated prompt is taken from the first 256 requests of `source`:
// it belongs to the one with the most output tokens. A new prompt has the same tokens in an order
// drawn by `seed`. If `scope` forbids reuse of repeated prompts, each repetition gets kSaltTokens
// new tokens after its first token, so that a prefix cache cannot find it. Throws Error for a short
// prompt.
[[nodiscard]] std::unique_ptr<workloads::RequestSource> audit_prompts(
    const workloads::RequestSource& source, workloads::SaltScope scope, uint64_t seed);

// Sends the prompts of audit_prompts() one after another. Throws Interrupted when `stop` is set.
[[nodiscard]] Audit audit(experiments::serving::Target& target,
                          const workloads::RequestSource& prompts,
                          const experiments::serving::Clock& clock, const std::atomic<bool>& stop);

// Returns a verdict with a reason for INVALID if the audit failed, if the whole interval of the
// further_tokens ratio is above 2, or if `scope` forbids reuse of repeated prompts and the whole
// interval of the first_token ratio is above 1.1. Otherwise returns a verdict with both ratios as a
// reservation, which says so if the further_tokens ratio is not known.
[[nodiscard]] experiments::serving::Verdict judge_audit(const Audit& audit,
                                                        workloads::SaltScope scope);

// The audit as fields of a record. Ratios that are not known are left out.
[[nodiscard]] Fields fields_of(const Audit& audit);

}  // namespace reprise::server
