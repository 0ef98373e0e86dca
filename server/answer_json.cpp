#include "server/answer_json.h"

#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/tokenizer/utf8.h"

namespace reprise::server {
namespace {

std::string event(const Fields& json) { return "data: " + json_text(json) + "\n\n"; }

Fields with_head(const AnswerHead& head, const char* object) {
  return {{"id", head.id}, {"object", object}, {"created", head.created_s}, {"model", head.model}};
}

Fields usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", Fields{{"cached_tokens", usage.cached_tokens}}}};
}

Fields chunk_of(const AnswerHead& head, bool has_usage) {
  Fields chunk = with_head(head, head.is_chat ? "chat.completion.chunk" : "text_completion");
  if (has_usage) chunk["usage"] = nullptr;
  return chunk;
}

Value reason_or_null(const std::string& reason) { return reason.empty() ? Value() : Value(reason); }

// A choice without its text. Moves the log probabilities out of `content`.
Fields choice_of(int32_t index, ChoiceContent& content) {
  Fields choice = {{"index", index}, {"finish_reason", reason_or_null(content.finish_reason)}};
  choice["logprobs"] = std::move(content.logprobs);
  for (const auto& [name, ids] : content.token_ids) choice[name] = ids;
  return choice;
}

Values numbers_of(const std::string& bytes) {
  Values numbers;
  for (const char c : bytes) numbers.emplace_back(static_cast<unsigned char>(c));
  return numbers;
}

Fields chat_entry(const TokenTexts& texts, const TokenLogprob& entry) {
  return {{"token", texts.text_of(entry.token)},
          {"logprob", entry.logprob},
          {"bytes", numbers_of(texts.bytes_of(entry.token))}};
}

}  // namespace

LogprobList::LogprobList(const TokenTexts& texts, bool is_chat)
    : texts_(texts), is_chat_(is_chat) {}

void LogprobList::add_prompt(std::span<const int32_t> prompt, const Echo& echo,
                             std::vector<std::vector<TokenLogprob>> logprobs) {
  REPRISE_CHECK(logprobs.size() + 1 == prompt.size(), "{} log probabilities for {} tokens",
                logprobs.size(), prompt.size());
  entries_.push_back({{{.token = prompt[0], .logprob = NAN}}, 0});
  for (size_t i = 1; i < prompt.size(); ++i)
    entries_.push_back({std::move(logprobs[i - 1]), echo.offsets[i]});
  echoed_ = static_cast<int64_t>(tokenizer::utf8_length(echo.text));
}

void LogprobList::add(const Piece& piece, int64_t characters, const std::string& text) {
  if (piece.logprobs.empty()) return;
  const int64_t earlier = texts_.earlier_characters(piece.token, text);
  entries_.push_back({piece.logprobs, echoed_ + characters + earlier});
}

Value LogprobList::take() {
  if (entries_.empty()) return nullptr;
  Fields list = is_chat_ ? chat_form() : completion_form();
  entries_.clear();
  return list;
}

Fields LogprobList::chat_form() const {
  Values content;
  for (const Entry& entry : entries_) {
    Fields token = chat_entry(texts_, entry.probs[0]);
    Values top;
    for (size_t i = 1; i < entry.probs.size(); ++i)
      top.emplace_back(chat_entry(texts_, entry.probs[i]));
    token["top_logprobs"] = std::move(top);
    content.emplace_back(std::move(token));
  }
  Fields list;  // filled below, because braces would copy `content`
  list["content"] = std::move(content);
  return list;
}

Fields LogprobList::completion_form() const {
  Values tokens, logprobs, offsets, tops;
  for (const auto& [entry, offset] : entries_) {
    Fields top;
    const auto taken = [&](const std::string& key) { return top.contains(key); };
    const std::string drawn = texts_.key_of(entry[0].token, taken);
    tokens.emplace_back(drawn);
    offsets.emplace_back(offset);
    if (std::isnan(entry[0].logprob)) {  // a prompt's first token
      logprobs.emplace_back(nullptr);
      tops.emplace_back(nullptr);
      continue;
    }
    logprobs.emplace_back(entry[0].logprob);
    top.emplace(drawn, entry[0].logprob);
    for (size_t i = 1; i < entry.size(); ++i)
      if (entry[i].token != entry[0].token)
        top.emplace(texts_.key_of(entry[i].token, taken), entry[i].logprob);
    tops.emplace_back(std::move(top));
  }
  Fields list;
  list["tokens"] = std::move(tokens);
  list["token_logprobs"] = std::move(logprobs);
  list["text_offset"] = std::move(offsets);
  list["top_logprobs"] = std::move(tops);
  return list;
}

Fields whole_choice(const AnswerHead& head, int32_t index, ChoiceContent content) {
  Fields choice = choice_of(index, content);
  if (head.is_chat)
    choice["message"] =
        Fields{{"role", "assistant"}, {"content", content.text}, {"refusal", nullptr}};
  else
    choice["text"] = content.text;
  return choice;
}

Fields whole_answer(const AnswerHead& head, Values choices, const Usage& usage) {
  Fields answer = with_head(head, head.is_chat ? "chat.completion" : "text_completion");
  answer["choices"] = std::move(choices);
  answer["usage"] = usage_json(usage);
  return answer;
}

std::string text_event(const AnswerHead& head, int32_t index, ChoiceContent content,
                       bool has_usage) {
  Fields choice = choice_of(index, content);
  if (head.is_chat)
    choice["delta"] = Fields{{"content", content.text}};
  else
    choice["text"] = content.text;
  Fields chunk = chunk_of(head, has_usage);
  chunk["choices"] = Values{std::move(choice)};
  return event(chunk);
}

std::string role_event(const AnswerHead& head, int32_t index, bool has_usage,
                       const Fields& prompt) {
  Fields chunk = chunk_of(head, has_usage);
  update(chunk, prompt);
  chunk["choices"] = Values{Fields{{"index", index},
                                   {"finish_reason", nullptr},
                                   {"logprobs", nullptr},
                                   {"delta", Fields{{"role", "assistant"}, {"content", ""}}}}};
  return event(chunk);
}

std::string usage_event(const AnswerHead& head, const Usage& usage) {
  Fields chunk = chunk_of(head, true);
  chunk["choices"] = Values();
  chunk["usage"] = usage_json(usage);
  return event(chunk);
}

std::string error_event(const std::string& error_json) { return "data: " + error_json + "\n\n"; }

}  // namespace reprise::server
