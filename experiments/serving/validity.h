// Decides whether a run may be reported, VALID or INVALID with reasons, in the manner of MLPerf
// LoadGen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/value.h"
#include "experiments/serving/early_stopping.h"
#include "experiments/serving/latency.h"
#include "experiments/serving/request_log.h"

namespace reprise::experiments::serving {

struct ValidityRules {
  double least_duration_s = 60;  // from the start of the run to the end of the last answer
  int64_t least_requests = 100;  // requests that ended, served or not
  // At most most_late_share of the requests may be sent more than most_late_s late, since otherwise
  // the requested rate was not offered. An engine that is stepped in this process takes requests
  // only between two steps, and so makes requests late: set most_late_share accordingly.
  double most_late_s = 0.1;
  double most_late_share = 0.01;
  double most_error_share = 0;  // largest share of ended requests that were not served
  bool is_open_loop = true;     // the growth of the queue is checked only in an open loop
  // The service level. If it is set, there must be enough requests to bound the percentile
  // slo.share.
  Slo slo;
  double tolerance = 0;
  double confidence = 0.99;

  [[nodiscard]] EarlyStopping early_stopping() const {
    return {.percentile = slo.share, .tolerance = tolerance, .confidence = confidence};
  }
};

struct Verdict {
  std::vector<std::string> reasons;  // reasons for INVALID; empty: VALID
  // Sentences that a reader of a VALID run's numbers should know, for example that rules were
  // weaker than the defaults or that the queue grew until the end.
  std::vector<std::string> reservations;
  // Outcome of the service level, independent of validity: a run that misses the service level is
  // VALID (unlike in LoadGen), so that curves continue beyond the rate that meets it.
  SloOutcome slo = SloOutcome::kNone;
  int64_t ended = 0;     // ended requests: all but those cancelled with the run
  int64_t over_slo = 0;  // ended requests not within the service level
  // Ended requests that had the server to themselves: no other request was in progress between
  // their arrivals and their ends. Counted if there is a service level.
  int64_t alone = 0, alone_over_slo = 0;
  int64_t over_allowed = -1;  // most over_slo that meets the level; -1: too few ended
  bool is_too_small = false;  // too few ended to bound the percentile; reasons.back() says so
  bool is_short = false;      // a run that was not given up has fewer than least_requests
  bool queue_grew = false;    // queue_grew() of the log

  [[nodiscard]] bool is_valid() const { return reasons.empty(); }
  // {verdict: "VALID" or "INVALID", reasons, slo, reservations if there are any, and over_slo,
  // over_slo_allowed if there is a service level}
  [[nodiscard]] Fields fields() const;
};

// `stop_reason` is the reason why the run was given up; "": it was not given up.
[[nodiscard]] Verdict judge(const RequestLog& log, const ValidityRules& rules,
                            const std::string& stop_reason = "");

// Time from the start of the run to the last token or to the last end of a request, whichever is
// later; 0 if no request ended.
[[nodiscard]] double duration_s(const RequestLog& log);

}  // namespace reprise::experiments::serving
