#include "experiments/serving/reuse.h"

#include <algorithm>

namespace reprise::experiments::serving {

void settle_cached_tokens(RequestLog& log) {
  const bool reports =
      std::any_of(log.requests.begin(), log.requests.end(),
                  [](const RequestEntry& entry) { return entry.cached_tokens >= 0; });
  for (RequestEntry& entry : log.requests)
    if (entry.cached_tokens == kUsageWithoutCached) entry.cached_tokens = reports ? 0 : -1;
}

Reuse reuse_of(const RequestLog& log, const workloads::RequestSource& source,
               const ReuseOf& bounds) {
  Reuse reuse;
  for (const RequestEntry& entry : log.requests) {
    if (entry.outcome != Outcome::kServed) continue;
    const ReuseBounds own = bounds(source.request(entry.index), entry);
    reuse.bounds.least += own.least;
    reuse.bounds.most += own.most;
    reuse.prompt_tokens += entry.prompt_tokens;
    if (entry.cached_tokens >= 0) {
      reuse.cached_tokens += entry.cached_tokens;
    } else if (reuse.untold < 0) {
      reuse.untold = entry.index;
    }
  }
  return reuse;
}

}  // namespace reprise::experiments::serving
