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
  // Longest time in seconds that the run goes on after its last request was sent. After that time
  // the remaining requests are cancelled, and the run is INVALID.
  double most_drain_s = std::numeric_limits<double>::infinity();
  // Bounds on the prompt tokens that a request should find in the cache. They follow from what the
  // source's prompts share and what the method promises to reuse. Empty: nothing is checked. A run
  // that was given up is not checked either.
  ReuseOf reuse;
  const std::atomic<bool>* stop = nullptr;  // set by the user's interrupt
  // Called once, after warming up and computing the prefixes, before the first request is sent.
  std::function<void()> on_start;
  // False: of each request only the times of the first and last token are logged, and no token ids.
  // Then a million requests take a few hundred MB, and the metric itl_ms is left out. The token ids
  // of a session's answers are held until its last turn is sent.
  bool keeps_gaps = true;
};

struct RunResult {
  RequestLog log;  // times from the start of the measurement
  Verdict verdict;
  bool was_flushed = false;                       // the cache began empty, except for prefixes
  double prime_s = 0;                             // time to compute the prefixes
  std::string stop_reason;                        // reason why the run was given up; "": it was not
  int64_t own_answers = 0, invented_answers = 0;  // see DriveResult
  workloads::RequestSource::Dropped dropped;      // by the source, from its recorded requests
  WidthRule width;
  std::vector<WidthStop::Look> looks;
  std::optional<SteadyState> steady;  // not sought if the run was given up
};

// Sends request i of the source at schedule.intended_s[i], and waits for the last answer. In a
// closed loop a request is sent when fewer than schedule.most_in_flight requests are running. In
// sessions a request is sent when the answer before it has come, with the server's own answers in
// its prompt. The run is given up if the queue only grows. The log lacks requests that were not
// sent because the run was given up or because the width rule ended it.
//
// Throws Error if the log breaks an invariant (log_check.h). With options.reuse, also throws Error
// if the sum of cached tokens over served requests is outside the sum of their bounds, or if the
// server does not report cached tokens. Throws Interrupted (core/base/interrupted.h) when
// options.stop is set. schedule.intended_s must have a time for each request of the source (CHECK).
[[nodiscard]] RunResult run(Target& target, const workloads::RequestSource& source,
                            const workloads::ArrivalSchedule& schedule, const RunOptions& options,
                            const Clock& clock);

// Returns requests with the lengths of the source's first `count` requests and random tokens below
// `vocab`. Except by chance, the source's prompts share no prefix with them, so these requests warm
// up the model but put nothing into the cache that a run could reuse.
[[nodiscard]] std::vector<workloads::ServingRequest> unrelated_requests(
    const workloads::RequestSource& source, int64_t count, int32_t vocab, uint64_t seed);

}  // namespace reprise::experiments::serving
