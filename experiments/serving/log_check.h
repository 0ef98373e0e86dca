// Checks the invariants of a log before any metric is computed from it.
#pragma once

#include <cstdint>

#include "experiments/serving/request_log.h"

namespace reprise::experiments::serving {

// Throws Error naming the first wrong request, with the numbers, unless
//   all requests 0, 1, ..., sent - 1 occur, once each and in that order. With `has_gaps`, for runs
//   of sessions that ended early: any `sent` requests occur, once each and in ascending order
//   times are finite, and intended <= sent <= admitted <= first token <= ... <= last token <= done
//   0 < TTFT <= E2E, and the gaps between tokens add up to E2E - TTFT, up to rounding
//   a served request has as many tokens as were wanted; any other has at most as many, and a reason
//   no more prompt tokens were cached than the prompt has
// If the log breaks one of these, the server or this program has a fault, and no record is written.
void check_log(const RequestLog& log, int64_t sent, bool has_gaps = false);

}  // namespace reprise::experiments::serving
