#include "server/generation_request.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "server/request_fields.h"

namespace reprise::server {
namespace {

constexpr int64_t kMostAlternatives = 20;
constexpr int64_t kMostTokens = int64_t{1} << 24;

std::vector<int32_t> token_ids(const Json& list, const ServedModel& model) {
  std::vector<int32_t> ids;
  ids.reserve(list.size());
  for (const Json& item : list) {
    // get<int64_t>() wraps for values of 2^63 and more.
    const bool is_id = item.is_number_integer() &&
                       !(item.is_number_unsigned() && item.get<uint64_t>() > INT32_MAX) &&
                       item.get<int64_t>() >= 0 && item.get<int64_t>() < model.vocab;
    if (!is_id)
      refuse(400, "prompt", "entry {} of the prompt's tokens is {}: give ids from 0 to {}",
             ids.size() + 1,
             item.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 50),
             model.vocab - 1);
    ids.push_back(static_cast<int32_t>(item.get<int64_t>()));
  }
  return ids;
}

void add_text(const Json& text, const ServedModel& model, GenerationRequest& request) {
  field("prompt", [&] {
    const auto& plain = text.get_ref<const std::string&>();
    std::optional<engine::Request> marked;
    if (model.read_markup) marked = model.read_markup(plain);
    request.prompts.push_back(marked ? marked->prompt : model.tokenizer.encode(plain));
    if (marked) request.marked.emplace(request.prompts.size() - 1, std::move(*marked));
  });
}

// Reads "prompt": a text, a list of texts, a list of token ids, or a list of lists of token ids.
void read_prompts(JsonObject& object, const ServedModel& model, GenerationRequest& request) {
  const Json& prompt = field("prompt", [&]() -> const Json& { return object.at("prompt"); });
  if (prompt.is_string()) return add_text(prompt, model, request);
  constexpr const char* kAccepted =
      "prompt must be a text, a list of texts, a list of token ids, or a list of such lists";
  if (!prompt.is_array() || prompt.empty()) refuse(400, "prompt", "{}", kAccepted);
  const Json& first = prompt.front();
  if (first.is_number()) {
    request.prompts = {token_ids(prompt, model)};
    return;
  }
  if (std::ssize(prompt) > model.most_choices)
    refuse(400, "prompt", "{} prompts, at most {} are taken at once", prompt.size(),
           model.most_choices);
  for (const Json& item : prompt) {
    if (item.type() != first.type() || !(item.is_string() || item.is_array()))
      refuse(400, "prompt", "{}", kAccepted);
    if (item.is_string())
      add_text(item, model, request);
    else
      request.prompts.push_back(token_ids(item, model));
  }
}

// Reads the content of a message: a text, or a list of parts that are all text.
std::string content_text(const Json& message, size_t index) {
  const auto wrong = [&] {
    refuse(400, "messages",
           "message {} must have a content that is a text, or a list of parts of type text",
           index + 1);
  };
  if (!message.contains("content")) wrong();
  const Json& content = message["content"];
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) wrong();
  std::string text;
  for (const Json& part : content) {
    if (!part.is_object() || !part.contains("type") || part["type"] != "text" ||
        !part.contains("text") || !part["text"].is_string())
      wrong();
    text += part["text"].get<std::string>();
  }
  return text;
}

std::vector<tokenizer::ChatMessage> read_messages(JsonObject& object) {
  const Json& list = field("messages", [&]() -> const Json& { return object.at("messages"); });
  if (!list.is_array() || list.empty())
    refuse(400, "messages", "messages must be a list of one message at least");
  std::vector<tokenizer::ChatMessage> messages;
  for (const Json& message : list) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      refuse(400, "messages", "message {} must be an object with a role and a content",
             messages.size() + 1);
    std::string role = message["role"].get<std::string>();
    if (role == "developer") role = "system";  // newer clients use this name
    messages.push_back({std::move(role), content_text(message, messages.size())});
  }
  return messages;
}

std::vector<int32_t> chat_prompt(JsonObject& object, const ServedModel& model) {
  const std::vector<tokenizer::ChatMessage> messages = read_messages(object);
  if (!model.chat) refuse(400, "", "{}", model.no_chat);
  return field("messages", [&] {
    return tokenizer::encode_chat(tokenizer::write_chat(*model.chat, messages), model.tokenizer);
  });
}

// Reads the length of a chat's answer. The default is the model's length less the prompt's.
void read_chat_length(JsonObject& object, const ServedModel& model, GenerationRequest& request) {
  const int64_t left = model.max_sequence_tokens - std::ssize(request.prompts[0]);
  request.max_tokens = static_cast<int32_t>(std::max<int64_t>(left, 1));
  for (const char* name : {"max_tokens", "max_completion_tokens"})
    request.max_tokens = field(name, [&] {
      return static_cast<int32_t>(object.integer_in(name, 1, kMostTokens, request.max_tokens));
    });
}

void read_chat_logprobs(JsonObject& object, GenerationRequest& request) {
  const bool wanted = field("logprobs", [&] { return object.boolean("logprobs", false); });
  const int64_t most = field(
      "top_logprobs", [&] { return object.integer_in("top_logprobs", 0, kMostAlternatives, 0); });
  if (!wanted && most > 0) refuse(400, "top_logprobs", "top_logprobs needs logprobs to be true");
  if (wanted) request.alternatives = static_cast<int32_t>(most);
}

void read_completion_extras(JsonObject& object, GenerationRequest& request) {
  request.max_tokens = field("max_tokens", [&] {
    return static_cast<int32_t>(object.integer_in("max_tokens", 1, kMostTokens, 16));
  });
  request.alternatives = field("logprobs", [&] {
    return static_cast<int32_t>(object.integer_in("logprobs", 0, kMostAlternatives, -1));
  });
  if (field("echo", [&] { return object.boolean("echo", false); }))
    refuse(400, "echo", "echo is not supported: leave it out");
  if (field("best_of", [&] { return object.integer("best_of", request.n); }) != request.n)
    refuse(400, "best_of", "best_of is not supported: leave it out, or give n");
}

}  // namespace

GenerationRequest read_completion(const std::string& body, const ServedModel& model) {
  const Json json = read_body(body);
  JsonObject object(json, "the request");
  GenerationRequest request;
  read_common(object, model, request);
  read_completion_extras(object, request);
  read_prompts(object, model, request);
  check_lengths(request, model, "prompt");
  check_logprobs(request, "logprobs");
  tell_unknown(object, model);
  return request;
}

GenerationRequest read_chat(const std::string& body, const ServedModel& model) {
  const Json json = read_body(body);
  JsonObject object(json, "the request");
  GenerationRequest request{.is_chat = true};
  read_common(object, model, request);
  read_chat_logprobs(object, request);
  request.prompts = {chat_prompt(object, model)};
  read_chat_length(object, model, request);
  check_lengths(request, model, "messages");
  check_logprobs(request, "top_logprobs");
  tell_unknown(object, model);
  return request;
}

}  // namespace reprise::server
