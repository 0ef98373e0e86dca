// A request as a user states it, and what the engine tells about it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/reuse/reuse_method.h"

namespace reprise::engine {

using reuse::RequestId;

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();  // ns
inline constexpr int64_t kNotYet = std::numeric_limits<int64_t>::min();

struct SamplingOptions {
  double temperature = 0.0;  // 0: greedy
  double top_p = 1.0;        // keep the smallest set of tokens whose probability reaches top_p
  int32_t top_k = 0;         // 0: all
  uint64_t seed = 0;         // token n of request r draws from the stream (seed, r, n)
  // In the place of r; below 0: the request's id. For callers whose ids differ from run to run.
  int64_t stream = -1;
};

// Which rows' logits the engine's observer sees.
enum class LogitsMode : uint8_t {
  kNone,
  kDrawn,  // those that a token is drawn from
  kAll     // of every token, the prompt's included, which is then computed whole: scoring
};

struct Request {
  RequestId id = 0;                // at least 0
  std::vector<int32_t> prompt;     // at least one token
  std::vector<int32_t> positions;  // [prompt] explicit positions in any order, or empty: 0, 1, 2,
                                   // ... (generated tokens continue at the largest position + 1)
  int32_t max_new_tokens = 16;     // 0: the prompt is computed and nothing drawn
  SamplingOptions sampling;
  std::vector<int32_t> stop_ids;  // generation ends after one of these; it is reported
  LogitsMode logits = LogitsMode::kNone;
  // Leading tokens of the prompt whose states depend on the tokens before them alone. Those behind
  // read something else as well, such as modules that the request imports: no other request finds
  // them as its own.
  int32_t shareable_tokens = std::numeric_limits<int32_t>::max();

  // In nanoseconds of the engine's clock.
  int64_t arrival_ns = kNotYet;  // when it was meant to come; kNotYet: when it is submitted
  int64_t deadline_ns = kNever;  // a request that waits at this time is given up
  int32_t priority = 0;          // the larger the sooner
};

enum class FinishReason : uint8_t {
  kNone,
  kLength,     // all tokens asked for
  kStop,       // one of stop_ids
  kRefused,    // it cannot be served; TokenEvent::reason says why
  kCancelled,  // by Engine::cancel()
  kDeadline    // it waited for too long
};
[[nodiscard]] std::string name_of(FinishReason reason);

// When what happened to a request, in nanoseconds of the engine's clock; kNotYet: it did not.
// Latency counts from `intended`: a stalled engine cannot hide its queue.
struct RequestTimes {
  int64_t intended = kNotYet;  // Request::arrival_ns
  int64_t submitted = kNotYet;
  int64_t admitted = kNotYet;     // for the first time
  int64_t first_token = kNotYet;  // end of the step that drew it
  int64_t done = kNotYet;
};

// A token of a request, or its end, or both. Each request that was submitted ends with one event.
struct TokenEvent {
  RequestId request = 0;
  int32_t token = -1;   // -1: none
  int32_t index = 0;    // of the token, 0: the first generated one; else how many there were
  int64_t time_ns = 0;  // of the engine's clock, at the end of the step that made it
  FinishReason finish = FinishReason::kNone;
  // Complete where it finishes:
  RequestTimes times = {};
  // Leading tokens of the prompt that were not computed for it: the method had their states when
  // the request joined the batch for the first time.
  int32_t cached_tokens = 0;
  int32_t preemptions = 0;  // how often it gave back its cache for others
  std::string reason = {};  // of kRefused

  [[nodiscard]] bool has_token() const { return token >= 0; }
};

// Throws Error with the first refusal's reason, for callers whose requests must all be served.
void require_served(std::span<const TokenEvent> events);

// Logits as the observer sees them.
struct LogitsRow {
  RequestId request = 0;
  int32_t token = 0;              // index in prompt and generated tokens of the row's own token
  int32_t index = -1;             // of the generated token that is drawn from the row; -1: none is
  std::span<const float> logits;  // [vocab] f32; the engine's, valid during the call
};

}  // namespace reprise::engine
