// Whether a run may be reported: VALID or INVALID, with the reasons, in the manner of MLPerf
// LoadGen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "experiments/serving/early_stopping.h"
#include "experiments/serving/latency.h"
#include "experiments/serving/request_log.h"

namespace reprise::experiments::serving {

struct ValidityRules {
  double least_duration_s = 60;  // from the start to the last token
  int64_t least_requests = 100;  // that ended, served or not
  // Requests that are sent more than most_late_s after their time did not offer the rate that was
  // asked for: most_late_share of them at most. Engines that are stepped in the process's own
  // thread take requests between two steps, which is no lateness of the load: set it accordingly.
  double most_late_s = 0.1;
  double most_late_share = 0.01;
  double most_error_share = 0;  // of all: refused, failed, expired
  // Its share is the percentile; where it is set there must be requests enough to bound that.
  Slo slo;
  double tolerance = 0;
  double confidence = 0.99;

  [[nodiscard]] EarlyStopping early_stopping() const {
    return {.percentile = slo.share, .tolerance = tolerance, .confidence = confidence};
  }
};

struct Verdict {
  std::vector<std::string> reasons;  // of INVALID; empty: VALID
  // Beside it: a run whose latencies miss the service level is measured all the same (LoadGen would
  // call it INVALID), so that curves go on beyond the rate that still meets it.
  SloOutcome slo = SloOutcome::kNone;
  int64_t ended = 0;          // requests that count: all but those given up with the run
  int64_t over_slo = 0;       // of them, not within the service level
  int64_t over_allowed = -1;  // by early stopping; -1: too few ended to allow any
  bool is_too_small = false;  // the last of the reasons: too few ended to bound the percentile

  [[nodiscard]] bool is_valid() const { return reasons.empty(); }
  // {verdict: "VALID" or "INVALID", reasons, slo, and over_slo, over_slo_allowed where there is
  // one}
  [[nodiscard]] Json json() const;
};

// `stop_reason`: why the run was given up; "": it was not.
[[nodiscard]] Verdict judge(const RequestLog& log, const ValidityRules& rules,
                            const std::string& stop_reason = "");

// From the start of the run to the last token or end; 0 where nothing ended.
[[nodiscard]] double duration_s(const RequestLog& log);

}  // namespace reprise::experiments::serving
