#include "server/chat_messages.h"

#include <string>
#include <utility>

#include "server/request_fields.h"

namespace reprise::server {
namespace {

// Reads the content of a message: a text, or a list of parts that are all text.
std::string content_text(const Value& message, size_t index, const ServedModel& model) {
  const auto wrong = [&] {
    refuse(400, "messages",
           "message {} must have a content that is a text, or a list of parts of type text",
           index + 1);
  };
  const Value& content = field_of(message, "content");
  if (content.is_text()) return content.text();
  if (!content.is_list()) wrong();
  std::string text;
  for (const Value& part : content.list()) {
    const Value& part_text = field_of(part, "text");
    if (field_of(part, "type") != Value("text") || !part_text.is_text()) wrong();
    text += part_text.text();
    JsonObject fields(part, "the request");
    fields.allow({"type", "text"});
    tell_unknown(fields, model, "messages.content.");
  }
  return text;
}

// Refuses calls of tools, which the templates here do not write, and tells the names of the
// message's unknown fields.
void check_fields(const Value& message, const ServedModel& model) {
  JsonObject fields(message, "the request");
  refuse_unless_neutral(fields, {{"tool_calls", nullptr}, {"function_call", nullptr}});
  fields.allow({"role", "content", "refusal"});  // answers have "refusal", which is always null
  tell_unknown(fields, model, "messages.");
}

std::vector<tokenizer::ChatMessage> read_messages(JsonObject& object, const ServedModel& model) {
  const Value& list = field("messages", [&]() -> const Value& { return object.at("messages"); });
  if (!list.is_list() || list.size() == 0)
    refuse(400, "messages", "messages must be a list of one message at least");
  std::vector<tokenizer::ChatMessage> messages;
  for (const Value& message : list.list()) {
    const Value& given_role = field_of(message, "role");
    if (!given_role.is_text())
      refuse(400, "messages", "message {} must be an object with a role and a content",
             messages.size() + 1);
    check_fields(message, model);
    std::string role = given_role.text();
    if (role == "developer") role = "system";  // newer clients use this name
    messages.push_back({std::move(role), content_text(message, messages.size(), model)});
  }
  return messages;
}

}  // namespace

std::vector<int32_t> chat_prompt(JsonObject& object, const ServedModel& model) {
  const std::vector<tokenizer::ChatMessage> messages = read_messages(object, model);
  if (!model.chat) refuse(400, "", "{}", model.no_chat);
  size_t bytes = 0;
  for (const tokenizer::ChatMessage& message : messages) bytes += message.content.size();
  check_text_length(bytes, model, "messages");
  return field("messages", [&] {
    return tokenizer::encode_chat(tokenizer::write_chat(*model.chat, messages), model.tokenizer);
  });
}

}  // namespace reprise::server
