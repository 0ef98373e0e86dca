// Reads the streamed answer of an OpenAI-compatible server: its tokens and the time of each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"

namespace reprise::server {

struct CompletionAnswer {
  std::vector<double> token_s;     // time of each generated token, ascending
  std::vector<int32_t> token_ids;  // id of each token in token_s; empty if the server omits any
  std::string text;                // with the reasoning in front
  int64_t prompt_tokens = -1;      // as the server counts; -1: not reported
  int64_t cached_tokens = -1;      // as the server counts; -1: not reported
  int64_t reasoning_tokens = 0;    // as the server counts, or else tokens in events of reasoning
  std::string finish_reason;       // "": not reported
  bool tells_tokens = false;       // the stream gave token counts; see CompletionStream
  std::string fault;               // fault of the stream, in words; "": none
};

// Reads server-sent events of /v1/completions or /v1/chat/completions with "stream". In a chat,
// reasoning counts as text; a first event that only gives a role is the opening, which has no token
// unless the total in usage is reached only with it. All tokens of an event get the time at which
// the bytes came that completed the event. The number of tokens of an event comes from the first of
// these that the server reports:
//   its token ids (vLLM's return_token_ids)
//   the growth of a running count: usage.completion_tokens (vLLM's continuous_usage_stats) or
//   timings.predicted_n (llama.cpp's timings_per_token), if it begins with the first token
//   its logprobs
//   one token for each event with text (or with calls of tools). An event without text has a token
//   only if the sum otherwise falls short of the total in usage at the end, and is then equal to
//   it: the event may stand for half of a character, or for the token that ends a text.
// If the numbers do not add up to the total in usage, the total is spread evenly over the events
// with text. If an answer has no count at all and ended because of its length, the number of tokens
// asked for is spread in the same way. An answer whose events have neither text nor counts has no
// tokens, unless the total in usage equals the number of these events.
class CompletionStream {
 public:
  // Takes bytes of the body in order, split anywhere. Times must not decrease.
  void feed(std::string_view bytes, double time_s);
  [[nodiscard]] bool is_done() const { return is_done_; }  // "[DONE]" has come
  // True once an event has come that has text, or reports tokens.
  [[nodiscard]] bool has_token() const { return has_token_; }
  // `wanted`: the number of tokens that were asked for. `has_ended`: the body was read to its end.
  // If reading stopped earlier, an unfinished event is left out.
  [[nodiscard]] CompletionAnswer take(int64_t wanted, bool has_ended);

 private:
  struct Chunk {
    double time_s = 0;
    int64_t tokens = -1;  // -1: not reported
    bool has_text = false;
    bool is_reasoning = false;
    bool opens = false;  // the first event of a chat, with a role and without text
    bool ends = false;   // has the reason for which the answer ends
  };
  using Chunks = std::vector<Chunk>;
  void end_line(double time_s);
  void end_event(double time_s);
  void read(const Value& event, double time_s);
  void read_choice(const Value& choice, int64_t counted, double time_s);
  [[nodiscard]] bool is_running(int64_t counted, const Chunk& chunk) const;
  [[nodiscard]] static std::vector<double> as_told(const Chunks& chunks);
  [[nodiscard]] std::vector<double> token_times() const;
  [[nodiscard]] std::vector<double> spread(const Chunks& chunks) const;
  [[nodiscard]] int64_t reasoning_tokens() const;

  std::string line_, data_;
  bool has_data_ = false, is_done_ = false;
  double last_s_ = 0;  // time of the bytes fed last
  Chunks chunks_;
  bool has_begun_ = false;  // an event with a choice has come
  bool has_token_ = false;  // see has_token()
  int64_t counted_ = 0;     // the running count's last value
  int64_t total_ = -1;      // tokens, as the server says at the end
  int64_t reasoned_ = -1;   // reasoning tokens, as the server says at the end
  CompletionAnswer answer_;
};

// Returns "error.message" of a body that is not a stream. If the body has no such field, returns
// the beginning of the body.
[[nodiscard]] std::string error_text(const std::string& body);

}  // namespace reprise::server
