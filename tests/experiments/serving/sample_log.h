// Small logs with made-up times.
#pragma once

#include <cstdint>

#include "experiments/serving/request_log.h"

namespace reprise::experiments::serving {

// A request that was sent when it was due, at `intended_s`. Its first token came `ttft_s` later,
// and then one token every `gap_s`.
inline RequestEntry served_entry(int64_t index, double intended_s, double ttft_s, double gap_s,
                                 int64_t tokens) {
  RequestEntry entry{.index = index,
                     .intended_s = intended_s,
                     .sent_s = intended_s,
                     .prompt_tokens = 10,
                     .wanted_tokens = tokens};
  for (int64_t i = 0; i < tokens; ++i)
    entry.token_s.push_back(intended_s + ttft_s + static_cast<double>(i) * gap_s);
  entry.done_s = entry.token_s.back();
  return entry;
}

// A log of `count` requests, one a second, each with three tokens: 0.5 s to the first, and 0.25 s
// from token to token.
inline RequestLog served_log(int64_t count) {
  RequestLog log;
  for (int64_t i = 0; i < count; ++i)
    log.requests.push_back(served_entry(i, static_cast<double>(i + 1), 0.5, 0.25, 3));
  return log;
}

inline RequestEntry failed_entry(int64_t index, double intended_s, const char* reason) {
  return {.index = index,
          .intended_s = intended_s,
          .sent_s = intended_s,
          .done_s = intended_s + 0.1,
          .prompt_tokens = 10,
          .wanted_tokens = 3,
          .outcome = Outcome::kFailed,
          .reason = reason};
}

}  // namespace reprise::experiments::serving
