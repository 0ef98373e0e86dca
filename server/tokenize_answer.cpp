#include "server/tokenize_answer.h"

#include <vector>

#include "server/chat_messages.h"
#include "server/request_fields.h"

namespace reprise::server {
namespace {

std::vector<int32_t> tokens_of(JsonObject& object, const ServedModel& model) {
  refuse_unless_neutral(object, {{"return_token_strs", false}});
  if (object.has("messages")) {
    refuse_unless_neutral(object, {{"add_special_tokens", false},
                                   {"add_generation_prompt", true},
                                   {"continue_final_message", false},
                                   {"tools", nullptr},
                                   {"chat_template", nullptr},
                                   {"chat_template_kwargs", Fields()}});
    return chat_prompt(object, model);
  }
  return field("prompt", [&] {
    const std::string text = object.string("prompt");
    check_text_length(text.size(), model, "prompt");
    return model.tokenizer.encode(text,
                                  {.add_special = object.boolean("add_special_tokens", true)});
  });
}

}  // namespace

std::string tokenize_answer(const std::string& body, const ServedModel& model) {
  const Value json = read_body(body);
  JsonObject object(json, "the request");
  read_model(object, model);
  const std::vector<int32_t> tokens = tokens_of(object, model);
  tell_unknown(object, model);
  return json_text(Fields{{"count", tokens.size()},
                          {"max_model_len", model.max_sequence_tokens},
                          {"tokens", Values(tokens.begin(), tokens.end())}});
}

std::string detokenize_answer(const std::string& body, const ServedModel& model) {
  const Value json = read_body(body);
  JsonObject object(json, "the request");
  read_model(object, model);
  const std::vector<int32_t> tokens = field("tokens", [&] {
    return read_ids(object.at("tokens"), "tokens", static_cast<size_t>(model.max_sequence_tokens),
                    model);
  });
  tell_unknown(object, model);
  return json_text(Fields{{"prompt", model.tokenizer.decode(tokens, {.skip_special = false})}});
}

}  // namespace reprise::server
