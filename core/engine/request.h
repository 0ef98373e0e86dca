// A request as a user states it, and the events by which the engine answers.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/engine/token_rules.h"
#include "core/reuse/sequence_cache.h"

namespace reprise::engine {

using reuse::RequestId;

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();  // nanoseconds
inline constexpr int64_t kNotYet = std::numeric_limits<int64_t>::min();

struct SamplingOptions {
  double temperature = 0.0;  // 0: greedy
  double top_p = 1.0;        // keep the smallest set of tokens whose probability reaches top_p
  int32_t top_k = 0;         // 0: no limit
  uint64_t seed = 0;         // token n of request r draws from the stream (seed, r, n)
  // Takes the place of the request's id r in (seed, r, n), for callers whose request ids differ
  // from run to run. Negative: the id is used.
  int64_t stream = -1;
  double min_p = 0.0;  // drop tokens whose probability is below min_p * the largest probability
  std::shared_ptr<const TokenRules> rules = {};  // null: logits stay as the model gave them

  // True if tokens must be drawn on the host: a device's kernel applies neither rules nor min_p.
  [[nodiscard]] bool needs_host() const { return rules != nullptr || min_p > 0.0; }
};

// The rows whose logits the engine passes to its observer.
enum class LogitsMode : uint8_t {
  kNone,
  kDrawn,  // rows from which a token is drawn
  // Rows of all tokens, for scoring. The whole prompt is computed and none of it reused.
  kAll
};

// A prompt that a method read from a text in its own markup. Only that method knows the content.
class PromptMarkup {
 public:
  virtual ~PromptMarkup() = default;
  // Number of prompt tokens that are computed and kept in the cache, because nothing imports them.
  [[nodiscard]] virtual int64_t computed_tokens() const = 0;
};

struct Request {
  RequestId id = 0;             // at least 0
  std::vector<int32_t> prompt;  // at least one token
  // [prompt] explicit positions in any order, or empty for 0, 1, 2, ... The first generated token
  // gets prompt_end() as its position.
  std::vector<int32_t> positions;
  // Lower bound on the position of the first generated token, for prompts whose imported tokens lie
  // behind the prompt's own.
  int32_t least_length = 0;
  int32_t max_new_tokens = 16;  // 0: only the prompt is computed
  SamplingOptions sampling;
  // Generation ends after any of these tokens. The token itself is reported.
  std::vector<int32_t> stop_ids;
  LogitsMode logits = LogitsMode::kNone;
  // Number of leading prompt tokens whose states depend on the preceding tokens alone. The states
  // of later tokens also depend on something else, such as imported modules, so other requests must
  // not reuse them.
  int32_t shareable_tokens = std::numeric_limits<int32_t>::max();
  // Null for a prompt of plain tokens. Before a RequestShaper has seen the request, `prompt` and
  // `positions` hold all tokens that the markup stands for, including imported ones.
  std::shared_ptr<const PromptMarkup> markup = {};
  // Number of tokens that a RequestShaper removed from `prompt` because their states are imported.
  int32_t imported_tokens = 0;

  // Intended arrival, ns of the engine's clock; kNotYet: the time of submission.
  int64_t arrival_ns = kNotYet;
  int32_t priority = 0;  // a larger priority runs sooner
};

// Returns the position of the first generated token: the largest position of the prompt + 1, or
// least_length if that is larger. The prompt must not be empty.
[[nodiscard]] int64_t prompt_end(const Request& request);
// True if each token's position, generated tokens included, is the previous one's plus 1. The
// prompt must not be empty.
[[nodiscard]] bool has_consecutive_positions(const Request& request);

enum class FinishReason : uint8_t {
  kNone,
  kLength,    // max_new_tokens were generated
  kStop,      // one of stop_ids was generated
  kRefused,   // the request cannot be served; TokenEvent::reason says why
  kCancelled  // Engine::cancel() was called
};
[[nodiscard]] std::string name_of(FinishReason reason);

// When each stage of a request happened, in nanoseconds of the engine's clock; kNotYet for a stage
// not reached. Latency counts from `intended`, so it includes the time that a request waited
// because the engine stalled.
struct RequestTimes {
  int64_t intended = kNotYet;  // Request::arrival_ns
  int64_t submitted = kNotYet;
  int64_t admitted = kNotYet;     // first admission
  int64_t first_token = kNotYet;  // end of the step that drew the first token
  int64_t done = kNotYet;
};

// A token of a request, the request's end, or both. The last event of every submitted request
// reports its end.
struct TokenEvent {
  RequestId request = 0;
  int32_t token = -1;  // -1: none
  // Number of `token`: 0 for the first generated one. If `token` is -1: how many were generated.
  int32_t index = 0;
  int64_t time_ns = 0;  // end of the step that made the event, by the engine's clock
  FinishReason finish = FinishReason::kNone;
  // Set only in the request's last event, as is `cached_tokens`.
  RequestTimes times = {};
  // Prompt tokens that already had states when the request was first admitted: leading tokens in
  // the method's cache plus imported tokens.
  int32_t cached_tokens = 0;
  int32_t preemptions = 0;  // how often the request was preempted so far
  std::string reason = {};  // set for kRefused

  [[nodiscard]] bool has_token() const { return token >= 0; }
};

// Throws Error with the reason of the first refused request, if there is one. For callers that need
// all requests served.
void require_served(std::span<const TokenEvent> events);

// One row of logits, as the observer gets it.
struct LogitsRow {
  RequestId request = 0;
  int32_t token = 0;  // index of the row's token in prompt + generated tokens
  // Number of the generated token that is drawn from this row; -1: none.
  int32_t index = -1;
  std::span<const float> logits;  // [vocab] f32; owned by the engine, valid during the call
};

}  // namespace reprise::engine
