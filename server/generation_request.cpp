#include "server/generation_request.h"

#include <algorithm>

#include "server/chat_messages.h"
#include "server/request_fields.h"

namespace reprise::server {
namespace {

constexpr int64_t kMostAlternatives = 20;
constexpr int64_t kMostTokens = int64_t{1} << 24;

std::vector<int32_t> token_ids(const Values& list, const ServedModel& model) {
  std::vector<int32_t> ids;
  ids.reserve(list.size());
  for (const Value& item : list) {
    if (!item.is_int64() || item.integer() < 0 || item.integer() >= model.vocab)
      refuse(400, "prompt", "entry {} of the prompt's tokens is {}: give ids from 0 to {}",
             ids.size() + 1, json_text(item).substr(0, 50), model.vocab - 1);
    ids.push_back(static_cast<int32_t>(item.integer()));
  }
  return ids;
}

void add_text(const Value& text, const ServedModel& model, GenerationRequest& request) {
  field("prompt", [&] {
    const auto& plain = text.text();
    std::optional<engine::Request> marked;
    if (model.read_markup) marked = model.read_markup(plain);
    if (!marked) check_text_length(plain.size(), model, "prompt");
    const size_t index = request.prompts.size();
    request.prompts.push_back(marked ? marked->prompt : model.tokenizer.encode(plain));
    if (marked)
      request.marked.emplace(index, std::move(*marked));
    else if (request.echoes)
      request.texts.emplace(index, plain);
  });
}

// Reads "prompt": a text, a list of texts, a list of token ids, or a list of lists of token ids.
void read_prompts(JsonObject& object, const ServedModel& model, GenerationRequest& request) {
  const Value& prompt = field("prompt", [&]() -> const Value& { return object.at("prompt"); });
  if (prompt.is_text()) return add_text(prompt, model, request);
  constexpr const char* kAccepted =
      "prompt must be a text, a list of texts, a list of token ids, or a list of such lists";
  if (!prompt.is_list() || prompt.size() == 0) refuse(400, "prompt", "{}", kAccepted);
  const Values& list = prompt.list();
  const Value& first = list.front();
  if (first.is_number()) {
    request.prompts = {token_ids(list, model)};
    return;
  }
  if (std::ssize(list) > model.most_choices)
    refuse(400, "prompt", "{} prompts: {}", list.size(), choices_limit(model));
  for (const Value& item : list) {
    if (item.is_text() != first.is_text() || !(item.is_text() || item.is_list()))
      refuse(400, "prompt", "{}", kAccepted);
    if (item.is_text())
      add_text(item, model, request);
    else
      request.prompts.push_back(token_ids(item.list(), model));
  }
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
  request.echoes = field("echo", [&] { return object.boolean("echo", false); });
  request.max_tokens = field("max_tokens", [&] {
    const int64_t least = request.echoes ? 0 : 1;
    return static_cast<int32_t>(object.integer_in("max_tokens", least, kMostTokens, 16));
  });
  request.alternatives = field("logprobs", [&] {
    return static_cast<int32_t>(object.integer_in("logprobs", 0, kMostAlternatives, -1));
  });
}

}  // namespace

GenerationRequest read_completion(const std::string& body, const ServedModel& model) {
  const Value json = read_body(body);
  JsonObject object(json, "the request");
  GenerationRequest request;
  read_common(object, model, request);
  read_completion_extras(object, request);
  read_prompts(object, model, request);
  check_lengths(request, model, "prompt");
  if (request.echoes && request.alternatives >= 0 && !request.marked.empty())
    refuse(400, "logprobs",
           "log probabilities of a prompt that imports modules are not supported: leave echo or "
           "logprobs out");
  check_logprobs(request, "logprobs");
  tell_unknown(object, model);
  return request;
}

GenerationRequest read_chat(const std::string& body, const ServedModel& model) {
  const Value json = read_body(body);
  JsonObject object(json, "the request");
  GenerationRequest request{.is_chat = true};
  read_common(object, model, request);
  if (field("echo", [&] { return object.boolean("echo", false); }))
    refuse(400, "echo", "echo is not supported in chats: leave it out, or use /v1/completions");
  read_chat_logprobs(object, request);
  request.prompts = {chat_prompt(object, model)};
  read_chat_length(object, model, request);
  check_lengths(request, model, "messages");
  check_logprobs(request, "top_logprobs");
  tell_unknown(object, model);
  return request;
}

}  // namespace reprise::server
