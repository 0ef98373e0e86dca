#include "server/served_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/tokenizer/tokenizer_config.h"

namespace reprise::server {
namespace {

void choose_chat(ServedModel& model, const std::filesystem::path& folder, const std::string& name) {
  if (!name.empty()) {
    model.chat = tokenizer::chat_template(name);
    return;
  }
  const std::string remedy = fmt::format("start the server with --chat-template FAMILY, one of {}",
                                         fmt::join(tokenizer::chat_template_names(), ", "));
  const auto jinja = tokenizer::read_tokenizer_config(folder).chat_template;
  if (!jinja) {
    model.no_chat = fmt::format("model {} names no chat template; {}", model.name, remedy);
    return;
  }
  model.chat = tokenizer::recognized_chat_template(*jinja);
  if (!model.chat)
    model.no_chat = fmt::format(
        "model {} has a chat template that is none of the known families'; {}", model.name, remedy);
}

// Adds the token that closes an assistant's turn to the tokens that end a chat's answer, even if
// the checkpoint does not list it as an end token.
void add_end_of_turn(ServedModel& model) {
  model.chat_eos_ids = model.eos_ids;
  if (!model.chat) return;
  for (const tokenizer::MarkerPart& part : model.chat->assistant.close) {
    const std::string text = part.text.substr(0, part.text.find_last_not_of(" \n") + 1);
    const auto id = part.special == tokenizer::Special::kEos ? model.tokenizer.eos_id()
                    : text.empty()                           ? std::nullopt
                                                             : model.tokenizer.token_id(text);
    if (!id) continue;
    if (std::find(model.chat_eos_ids.begin(), model.chat_eos_ids.end(), *id) ==
        model.chat_eos_ids.end())
      model.chat_eos_ids.push_back(*id);
    return;
  }
}

// Returns the leading tokens of a text that do not depend on the text behind it. A following
// character may join the text's last token, so several characters are tried.
template <typename Encode>
std::vector<int32_t> common_beginning(Encode&& encode_with) {
  std::vector<int32_t> one = encode_with("A");
  for (const char* other : {"7", "\"", "z", " "}) {
    const std::vector<int32_t> two = encode_with(other);
    one.erase(std::mismatch(one.begin(), one.end(), two.begin(), two.end()).first, one.end());
  }
  return one;
}

}  // namespace

ServedModel served_model(const model::ModelConfig& config, const Tokenizer& tokenizer,
                         const std::filesystem::path& folder, const std::string& chat_template) {
  ServedModel model{.name = config.name, .tokenizer = tokenizer};
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id)
    model.longest_token_bytes =
        std::max<int64_t>(model.longest_token_bytes, std::ssize(tokenizer.token_text(id)));
  model.vocab = static_cast<int32_t>(config.vocab);
  model.eos_ids = {config.eos_ids.begin(), config.eos_ids.end()};
  choose_chat(model, folder, chat_template);
  add_end_of_turn(model);
  return model;
}

std::vector<int32_t> text_prefix(const ServedModel& model, const std::string& text) {
  return common_beginning([&](const char* rest) { return model.tokenizer.encode(text + rest); });
}

std::vector<int32_t> chat_prefix(const ServedModel& model, const std::string& system) {
  if (!model.chat) raise("{}", model.no_chat);
  return common_beginning([&](const char* user) {
    const std::vector<tokenizer::ChatMessage> messages = {{"system", system}, {"user", user}};
    return tokenizer::encode_chat(tokenizer::write_chat(*model.chat, messages), model.tokenizer);
  });
}

}  // namespace reprise::server
