#include "server/answer_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/tokenizer/utf8.h"

namespace reprise::server {
namespace {

std::string event(const Json& json) {
  return "data: " + json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n\n";
}

Json with_head(const AnswerHead& head, const char* object) {
  return {{"id", head.id}, {"object", object}, {"created", head.created_s}, {"model", head.model}};
}

Json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

Json chunk_of(const AnswerHead& head, bool has_usage) {
  Json chunk = with_head(head, head.is_chat ? "chat.completion.chunk" : "text_completion");
  if (has_usage) chunk["usage"] = nullptr;
  return chunk;
}

Json reason_or_null(const std::string& reason) { return reason.empty() ? Json() : Json(reason); }

// The bytes of a token's text, or null if the token is only part of a character.
Json bytes_of(const std::string& text) {
  if (text.find(tokenizer::kReplacement) != text.npos) return nullptr;
  Json bytes = Json::array();
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

Json chat_entry(const TokenTexts& texts, const TokenLogprob& entry) {
  const std::string text = texts.text_of(entry.token);
  return {{"token", text}, {"logprob", entry.logprob}, {"bytes", bytes_of(text)}};
}

}  // namespace

LogprobList::LogprobList(const TokenTexts& texts, bool is_chat)
    : texts_(texts), is_chat_(is_chat) {}

void LogprobList::add(const Piece& piece) {
  if (!piece.logprobs.empty()) entries_.push_back(piece.logprobs);
}

Json LogprobList::take() {
  if (entries_.empty()) return nullptr;
  Json list = is_chat_ ? chat_form() : completion_form();
  entries_.clear();
  return list;
}

Json LogprobList::chat_form() const {
  Json content = Json::array();
  for (const Entry& entry : entries_) {
    Json token = chat_entry(texts_, entry[0]);
    Json& top = token["top_logprobs"] = Json::array();
    for (size_t i = 1; i < entry.size(); ++i) top.push_back(chat_entry(texts_, entry[i]));
    content.push_back(std::move(token));
  }
  return {{"content", std::move(content)}};
}

Json LogprobList::completion_form() {
  Json list;
  for (const Entry& entry : entries_) {
    const std::string text = texts_.text_of(entry[0].token);
    list["tokens"].push_back(text);
    list["token_logprobs"].push_back(entry[0].logprob);
    list["text_offset"].push_back(offset_);
    offset_ += static_cast<int64_t>(tokenizer::utf8_length(text));
    Json top = Json::object();
    // If several tokens have the same text, the most probable one is kept. The drawn token is added
    // if no other has its text.
    for (size_t i = 1; i < entry.size(); ++i)
      top.emplace(texts_.text_of(entry[i].token), entry[i].logprob);
    top.emplace(text, entry[0].logprob);
    list["top_logprobs"].push_back(std::move(top));
  }
  return list;
}

Json whole_choice(const AnswerHead& head, int32_t index, const std::string& text,
                  const std::string& finish_reason, Json logprobs) {
  Json choice = {{"index", index}, {"finish_reason", finish_reason}};
  choice["logprobs"] = std::move(logprobs);
  if (head.is_chat)
    choice["message"] = {{"role", "assistant"}, {"content", text}, {"refusal", nullptr}};
  else
    choice["text"] = text;
  return choice;
}

Json whole_answer(const AnswerHead& head, Json choices, const Usage& usage) {
  Json answer = with_head(head, head.is_chat ? "chat.completion" : "text_completion");
  answer["choices"] = std::move(choices);
  answer["usage"] = usage_json(usage);
  return answer;
}

std::string text_event(const AnswerHead& head, int32_t index, const std::string& text,
                       const std::string& finish_reason, const Json& logprobs, bool has_usage) {
  Json choice = {
      {"index", index}, {"finish_reason", reason_or_null(finish_reason)}, {"logprobs", logprobs}};
  if (head.is_chat)
    choice["delta"] = {{"content", text}};
  else
    choice["text"] = text;
  Json chunk = chunk_of(head, has_usage);
  chunk["choices"] = Json::array({std::move(choice)});
  return event(chunk);
}

std::string role_event(const AnswerHead& head, int32_t index, bool has_usage) {
  Json chunk = chunk_of(head, has_usage);
  chunk["choices"] = Json::array({{{"index", index},
                                   {"finish_reason", nullptr},
                                   {"logprobs", nullptr},
                                   {"delta", {{"role", "assistant"}, {"content", ""}}}}});
  return event(chunk);
}

std::string usage_event(const AnswerHead& head, const Usage& usage) {
  Json chunk = chunk_of(head, true);
  chunk["choices"] = Json::array();
  chunk["usage"] = usage_json(usage);
  return event(chunk);
}

std::string error_event(const std::string& error_json) { return "data: " + error_json + "\n\n"; }

}  // namespace reprise::server
