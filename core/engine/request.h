// A request as a user states it, and what the engine tells about it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/reuse/reuse_method.h"

namespace reprise::engine {

using reuse::RequestId;

struct SamplingOptions {
  double temperature = 0.0;  // 0: greedy
  double top_p = 1.0;        // keep the smallest set of tokens whose probability reaches top_p
  int32_t top_k = 0;         // 0: all
  uint64_t seed = 0;         // token n of request r draws from the stream (seed, r, n)
};

struct Request {
  RequestId id = 0;
  std::vector<int32_t> prompt;     // at least one token
  std::vector<int32_t> positions;  // [prompt] explicit positions in any order, or empty: 0, 1, 2,
                                   // ... (generated tokens continue at the largest position + 1)
  int32_t max_new_tokens = 16;
  SamplingOptions sampling;
  std::vector<int32_t> stop_ids;  // generation ends after one of these; it is reported
};

enum class FinishReason : uint8_t { kNone, kLength, kStop };

// One generated token.
struct TokenEvent {
  RequestId request = 0;
  int32_t token = 0;
  int32_t index = 0;    // 0: the first generated token, whose time is the TTFT
  int64_t time_ns = 0;  // of the engine's clock, at the end of the step that made it
  FinishReason finish = FinishReason::kNone;
};

}  // namespace reprise::engine
