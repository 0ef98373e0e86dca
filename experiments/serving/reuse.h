// Counts the prompt tokens that a server found in its cache, and bounds how many it can find.
#pragma once

#include <cstdint>
#include <functional>

#include "experiments/serving/request_log.h"
#include "workloads/serving/request_source.h"

namespace reprise::experiments::serving {

// Bounds on the number of prompt tokens that are found in the cache, both ends included.
struct ReuseBounds {
  int64_t least = 0, most = 0;
};

// Value of RequestEntry::cached_tokens if the answer has a usage without a number of cached tokens.
// vLLM leaves this number out if it is 0.
inline constexpr int64_t kUsageWithoutCached = -2;

// Replaces kUsageWithoutCached in the log of a run: by 0 if any answer of the run reported a number
// of cached tokens, otherwise by -1 (not reported).
void settle_cached_tokens(RequestLog& log);

// Returns the bounds of one request, which has ended with this entry of the log.
using ReuseOf = std::function<ReuseBounds(const workloads::ServingRequest&, const RequestEntry&)>;

// Sums over the served requests of a log.
struct Reuse {
  ReuseBounds bounds;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;  // summed over the requests with a known count
  // Index of the first request without a reported number of cached tokens; -1: none.
  int64_t untold = -1;
};

// Sums over the served requests. Draws their prompts from `source` again, because the log does not
// keep prompts.
[[nodiscard]] Reuse reuse_of(const RequestLog& log, const workloads::RequestSource& source,
                             const ReuseOf& bounds);

}  // namespace reprise::experiments::serving
