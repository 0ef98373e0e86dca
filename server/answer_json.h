// Answers in the API's JSON: whole ones, and the events of a stream.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "server/generation_request.h"
#include "server/reply.h"
#include "server/token_texts.h"

namespace reprise::server {

// Of one answer; each of its events repeats it.
struct AnswerHead {
  std::string id;  // "cmpl-..." or "chatcmpl-..."
  std::string model;
  int64_t created_s = 0;  // since 1970
  bool is_chat = false;
};

struct Usage {
  int64_t prompt_tokens = 0, completion_tokens = 0;
  int64_t cached_tokens = 0;  // of the prompts, found in the cache
};

// Log probabilities of a choice's tokens, gathered as they come.
class LogprobList {
 public:
  // `texts` must outlive it.
  LogprobList(const TokenTexts& texts, bool is_chat);
  void add(const Piece& piece);
  // What was added since the last call, in the form of the endpoint; null: nothing.
  Json take();

 private:
  using Entry = std::vector<TokenLogprob>;  // of one token, as logprobs_of() gives them
  [[nodiscard]] Json chat_form() const;
  Json completion_form();

  const TokenTexts& texts_;
  bool is_chat_;
  int64_t offset_ = 0;  // characters of the tokens that were taken
  std::vector<Entry> entries_;
};

// A choice of a whole answer.
Json whole_choice(const AnswerHead& head, int32_t index, const std::string& text,
                  const std::string& finish_reason, Json logprobs);
Json whole_answer(const AnswerHead& head, Json choices, const Usage& usage);

// The "data: {...}\n\n" of a stream. `finish_reason` "": the choice goes on. With `has_usage`, the
// client asked for an event of the usage, so that the others say null.
std::string text_event(const AnswerHead& head, int32_t index, const std::string& text,
                       const std::string& finish_reason, const Json& logprobs, bool has_usage);
// Tells whose turn it is, before the first text of a chat's choice.
std::string role_event(const AnswerHead& head, int32_t index, bool has_usage);
std::string usage_event(const AnswerHead& head, const Usage& usage);
std::string error_event(const std::string& error_json);
inline constexpr const char* kDoneEvent = "data: [DONE]\n\n";

}  // namespace reprise::server
