// Writes answers as the API's JSON: whole answers and the events of a stream.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "server/echo.h"
#include "server/generation_request.h"
#include "server/reply.h"
#include "server/token_texts.h"

namespace reprise::server {

// The fields that an answer and each of its events begin with.
struct AnswerHead {
  std::string id;  // "cmpl-..." or "chatcmpl-..."
  std::string model;
  int64_t created_s = 0;  // seconds since 1970
  bool is_chat = false;
};

struct Usage {
  int64_t prompt_tokens = 0, completion_tokens = 0;
  int64_t cached_tokens = 0;  // prompt tokens found in the cache
};

// Collects the log probabilities of a choice's tokens as they arrive.
class LogprobList {
 public:
  // `texts` must outlive it.
  LogprobList(const TokenTexts& texts, bool is_chat);
  // For completions: adds the tokens of an echoed prompt with their log probabilities. The prompt's
  // first token has no log probability.
  void add_prompt(std::span<const int32_t> prompt, const Echo& echo,
                  std::vector<std::vector<TokenLogprob>> logprobs);
  // Adds the log probabilities of a generated token. `characters` is the number of characters that
  // were generated before it, and `text` the text that the decoder returned for it.
  void add(const Piece& piece, int64_t characters, const std::string& text);
  // The entries added since the last call, in the form of the endpoint; null if there are none.
  Value take();

 private:
  struct Entry {
    std::vector<TokenLogprob> probs;  // the result of logprobs_of() for one token
    int64_t offset = 0;               // characters of the choice's text before the token
  };
  [[nodiscard]] Fields chat_form() const;
  [[nodiscard]] Fields completion_form() const;

  const TokenTexts& texts_;
  bool is_chat_;
  int64_t echoed_ = 0;  // characters of the echoed prompt
  std::vector<Entry> entries_;
};

// The content of a choice: all of it in a whole answer, or the new part in an event of a stream.
struct ChoiceContent {
  std::string text;
  std::string finish_reason;  // "": the choice goes on
  Value logprobs;             // the result of LogprobList::take()
  // If the client asked for them: "token_ids", and for completions "prompt_token_ids".
  Fields token_ids;
};

// One entry of the list "choices" of a whole answer.
Fields whole_choice(const AnswerHead& head, int32_t index, ChoiceContent content);
Fields whole_answer(const AnswerHead& head, Values choices, const Usage& usage);

// Returns an event with text, as "data: {...}\n\n". `has_usage` is true if the client asked for an
// event with the usage. Then every event except the usage event gets "usage": null.
std::string text_event(const AnswerHead& head, int32_t index, ChoiceContent content,
                       bool has_usage);
// An event with the role "assistant", sent before the first text of each choice of a chat, with the
// fields of `prompt`: "prompt_token_ids", if the client asked for them.
std::string role_event(const AnswerHead& head, int32_t index, bool has_usage, const Fields& prompt);
std::string usage_event(const AnswerHead& head, const Usage& usage);
std::string error_event(const std::string& error_json);
inline constexpr const char* kDoneEvent = "data: [DONE]\n\n";

}  // namespace reprise::server
