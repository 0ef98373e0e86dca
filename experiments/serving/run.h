// The life cycle of a serving run: flush, warm up, prime, measure, validate.
#pragma once

#include <atomic>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "experiments/serving/clock.h"
#include "experiments/serving/queue_growth.h"
#include "experiments/serving/request_log.h"
#include "experiments/serving/reuse.h"
#include "experiments/serving/steady_state.h"
#include "experiments/serving/target.h"
#include "experiments/serving/validity.h"
#include "experiments/serving/width_stop.h"
#include "workloads/arrivals.h"
#include "workloads/serving/request_source.h"

namespace reprise::experiments::serving {

struct RunOptions {
  // Requests that run at once before anything is measured; see unrelated_requests(). The cache is
  // flushed after them.
  std::vector<workloads::ServingRequest> warmup;
  bool primes = false;  // announce the prefixes, and wait until they are computed
  ValidityRules rules;
  GrowthRule growth;  // used in open loops
  WidthRule width;    // ends the run before the source's last request
  // Longest time after the last request was sent. When it is over, the remaining requests are
  // cancelled, and the run is INVALID.
  double most_drain_s = std::numeric_limits<double>::infinity();
  // The cached tokens that a request should find, from the sharing in its source and the promise of
  // the method. Empty: not checked. Also not checked if the run was given up.
  ReuseOf reuse;
  const std::atomic<bool>* stop = nullptr;  // set by the user's interrupt
  // False: only the times of each request's first and last token are kept and no tokens, so that a
  // million requests take a few hundred MB. There is no itl_ms then.
  bool keeps_gaps = true;
};

struct RunResult {
  RequestLog log;  // times from the start of the measurement
  Verdict verdict;
  bool was_flushed = false;                       // the cache was empty, or held only the prefixes
  double prime_s = 0;                             // time to compute the prefixes
  std::string stop_reason;                        // reason why the run was given up; "": it was not
  int64_t own_answers = 0, invented_answers = 0;  // see DriveResult
  WidthRule width;
  std::vector<WidthStop::Look> looks;
  std::optional<SteadyState> steady;  // not sought if the run was given up
};

// Sends request i of the source at schedule.intended_s[i], and waits for the last answer. In a
// closed loop a request is sent when fewer than schedule.most_in_flight are running; in sessions,
// when the answer before it has come, with the server's own answers in its prompt. The run is given
// up if the queue only grows; the log then lacks the requests that were not sent. It also lacks
// them if the width rule ended the run.
//
// Throws Error if the log breaks an invariant (log_check.h), if the tokens reused by served
// requests are outside the sum of their bounds, and if a server with bounds does not report them.
// Throws Interrupted (framework/kind.h) when `stop` is set. schedule.intended_s must have a time
// for each request of the source (CHECK).
[[nodiscard]] RunResult run(Target& target, const workloads::RequestSource& source,
                            const workloads::ArrivalSchedule& schedule, const RunOptions& options,
                            const Clock& clock);

// Requests with the lengths of the source's first `count` requests and random tokens below `vocab`.
// No prompt of the source begins with them, except by chance, so they warm the model but not the
// cache.
[[nodiscard]] std::vector<workloads::ServingRequest> unrelated_requests(
    const workloads::RequestSource& source, int64_t count, int32_t vocab, uint64_t seed);

}  // namespace reprise::experiments::serving
