// The life cycle of a serving run: flush, warm the model, prime, measure, validate.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "experiments/serving/clock.h"
#include "experiments/serving/queue_growth.h"
#include "experiments/serving/request_log.h"
#include "experiments/serving/target.h"
#include "experiments/serving/validity.h"
#include "workloads/arrivals.h"
#include "workloads/serving/request_source.h"

namespace reprise::experiments::serving {

// Prompt tokens that are found in the cache rather than computed; both ends included.
struct ReuseBounds {
  int64_t least = 0, most = 0;
};

struct RunOptions {
  // Served before anything is measured, all at once: see unrelated_requests(). What they leave in
  // the cache is flushed.
  std::vector<workloads::ServingRequest> warmup;
  bool primes = false;  // announce the source's prefixes, and wait until they are computed
  ValidityRules rules;
  GrowthRule growth;  // of open loops
  // After the last request was sent, the rest are given up, and the run is INVALID.
  double most_drain_s = std::numeric_limits<double>::infinity();
  // What a request should find in the cache, by what its source shares and the method promises.
  // Empty: nothing is asserted. Not asserted of a run that was given up.
  std::function<ReuseBounds(const workloads::ServingRequest&)> reuse;
  const std::atomic<bool>* stop = nullptr;  // raised by the user
  // False: of each request the times of its first and last token alone, and no tokens, so that a
  // million requests take a few hundred MB; there is no itl_ms then.
  bool keeps_gaps = true;
};

struct RunResult {
  RequestLog log;  // times from the start of the measurement
  Verdict verdict;
  bool was_flushed = false;  // the cache was empty, or held the prefixes alone
  double prime_s = 0;        // computing the prefixes
  std::string stop_reason;   // why it was given up before its end; "": it was not
};

// Sends request i of the source at schedule.intended_s[i], or in a closed loop once fewer than
// schedule.most_in_flight are under way, whatever becomes of the others, and waits for the last
// answer. The run is given up, with what it has, where the queue only grows; requests that were
// never sent are not in the log then.
//
// Throws Error where the log breaks an invariant (log_check.h), where the tokens reused by served
// requests lie outside the sum of their bounds, and where a bounded server does not tell;
// Interrupted (framework/kind.h) when `stop` is raised. schedule.intended_s has a time for each
// request of the source (CHECK).
[[nodiscard]] RunResult run(Target& target, const workloads::RequestSource& source,
                            const workloads::ArrivalSchedule& schedule, const RunOptions& options,
                            const Clock& clock);

// As long as the first `count` requests of the source, of random tokens below `vocab` that no
// prompt of it begins with but by chance: they warm a model and no cache.
[[nodiscard]] std::vector<workloads::ServingRequest> unrelated_requests(
    const workloads::RequestSource& source, int64_t count, int32_t vocab, uint64_t seed);

}  // namespace reprise::experiments::serving
