#include "core/tokenizer/chat_template.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/tokenizer/replace_all.h"
#include "core/tokenizer/utf8.h"

namespace reprise::tokenizer {
namespace {

const MarkerPart kBos = {"", Special::kBos};
const MarkerPart kEos = {"", Special::kEos};

ChatTemplate llama_2() {
  return {.name = "llama-2",
          .system = {.open = {{"<<SYS>>\n"}}, .close = {{"\n<</SYS>>\n\n"}}},
          .user = {.open = {kBos, {"[INST] "}}, .close = {{" [/INST]"}}},
          .assistant = {.open = {{" "}}, .close = {{" "}, kEos}},
          .system_place = SystemPlace::kInFirstUser,
          .alternates = true,
          .strips = true};
}

ChatTemplate llama_3() {
  return {.name = "llama-3",
          .begin = {kBos},
          .system = {{{"<|start_header_id|>system<|end_header_id|>\n\n"}}, {{"<|eot_id|>"}}},
          .user = {{{"<|start_header_id|>user<|end_header_id|>\n\n"}}, {{"<|eot_id|>"}}},
          .assistant = {{{"<|start_header_id|>assistant<|end_header_id|>\n\n"}}, {{"<|eot_id|>"}}},
          .answer = {{"<|start_header_id|>assistant<|end_header_id|>\n\n"}},
          .strips = true};
}

ChatTemplate chatml() {
  return {.name = "chatml",
          .system = {{{"<|im_start|>system\n"}}, {{"<|im_end|>\n"}}},
          .user = {{{"<|im_start|>user\n"}}, {{"<|im_end|>\n"}}},
          .assistant = {{{"<|im_start|>assistant\n"}}, {{"<|im_end|>\n"}}},
          .answer = {{"<|im_start|>assistant\n"}}};
}

ChatTemplate falcon_instruct() {
  return {.name = "falcon-instruct",
          .user = {.open = {{"\n\nUser: "}}},
          .assistant = {.open = {{"\n\nAssistant: "}}},
          .answer = {{"\n\nAssistant:"}},
          .system_place = SystemPlace::kFirst,
          .alternates = true,
          .strips = true,
          .joins_paragraphs = true};
}

ChatTemplate zephyr() {
  return {.name = "zephyr",
          .system = {{{"<|system|>\n"}}, {kEos, {"\n"}}},
          .user = {{{"<|user|>\n"}}, {kEos, {"\n"}}},
          .assistant = {{{"<|assistant|>\n"}}, {kEos, {"\n"}}},
          .answer = {{"<|assistant|>\n"}}};
}

// Version 0.1 of the template writes a space after </s>, version 0.2 does not.
ChatTemplate mistral(const char* name, const Marker& close) {
  return {.name = name,
          .begin = {kBos},
          .user = {{{"[INST] "}}, {{" [/INST]"}}},
          .assistant = {.close = close},
          .system_place = SystemPlace::kRefused,
          .alternates = true};
}

ChatTemplate gemma() {
  return {.name = "gemma",
          .begin = {kBos},
          .user = {{{"<start_of_turn>user\n"}}, {{"<end_of_turn>\n"}}},
          .assistant = {{{"<start_of_turn>model\n"}}, {{"<end_of_turn>\n"}}},
          .answer = {{"<start_of_turn>model\n"}},
          .system_place = SystemPlace::kRefused,
          .alternates = true,
          .strips = true};
}

// The templates in the form that the models' publishers wrote.
const std::vector<ChatTemplate>& templates() {
  static const std::vector<ChatTemplate> kTable = {llama_2(),
                                                   llama_3(),
                                                   chatml(),
                                                   falcon_instruct(),
                                                   zephyr(),
                                                   mistral("mistral", {kEos}),
                                                   mistral("mistral-0.1", {kEos, {" "}}),
                                                   gemma()};
  return kTable;
}

// True for the characters that Python's str.strip() removes. Jinja's trim uses str.strip().
bool is_blank(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

std::string stripped(std::string_view text) {
  while (!text.empty() && is_blank(utf8_at(text, 0).code))
    text.remove_prefix(utf8_at(text, 0).bytes);
  while (!text.empty() && is_blank(utf8_before(text, text.size()).code))
    text.remove_suffix(utf8_before(text, text.size()).bytes);
  return std::string(text);
}

void append(Marker& out, const Marker& more) { out.insert(out.end(), more.begin(), more.end()); }

std::string plain_text(const Marker& marker) {
  std::string text;
  for (const MarkerPart& part : marker) {
    REPRISE_CHECK(part.special == Special::kNone, "a special token inside a message");
    text += part.text;
  }
  return text;
}

const ChatTurn& turn_of(const ChatTemplate& chosen, const std::string& role) {
  if (role == "system") return chosen.system;
  return role == "user" ? chosen.user : chosen.assistant;
}

void check_roles(const ChatTemplate& chosen, std::span<const ChatMessage> messages) {
  if (messages.empty()) raise("a conversation without messages: give one at least");
  const std::vector<std::string> known = {"system", "user", "assistant"};
  for (const ChatMessage& message : messages)
    if (std::find(known.begin(), known.end(), message.role) == known.end())
      raise("{}", unknown_name("role", message.role, known));
  if (chosen.system_place == SystemPlace::kAnyTurn) return;
  for (const ChatMessage& message : messages)
    if (message.role == "system" && chosen.system_place == SystemPlace::kRefused)
      raise("chat template {} knows no system message: put it into the first user's message",
            chosen.name);
  if (messages[0].role == "system" && messages.size() == 1)
    raise("with chat template {} a system message stands before a user's, not alone", chosen.name);
  for (size_t i = 1; i < messages.size(); ++i)
    if (messages[i].role == "system")
      raise("message {} is the system's: with chat template {} the first one alone may be", i + 1,
            chosen.name);
}

void check_alternation(const ChatTemplate& chosen, std::span<const ChatMessage> turns) {
  for (size_t i = 0; i < turns.size(); ++i)
    if ((turns[i].role == "user") != (i % 2 == 0))
      raise(
          "with chat template {} the user begins, and user and assistant take turns; turn {} is "
          "the {}'s",
          chosen.name, i + 1, turns[i].role);
}

// Returns a message's text in the form that its turn contains. `before` is a system text that is
// put before it.
std::string content_of(const ChatTemplate& chosen, const ChatMessage& message,
                       const std::string& before) {
  std::string text = before + message.content;
  if (chosen.strips) text = stripped(text);
  // The published template also replaces carriage returns, but Jinja has already turned these into
  // line feeds.
  if (chosen.joins_paragraphs && message.role != "system") replace_all(text, "\n\n", "\n");
  return text;
}

// Returns the text of the token that the template writes for `special`.
std::string token_text(Special special, const Tokenizer& tokenizer) {
  const std::optional<int32_t> id =
      special == Special::kBos ? tokenizer.bos_id() : tokenizer.eos_id();
  if (!id)
    raise("the chat template writes the token that {} a text, and the tokenizer names none",
          special == Special::kBos ? "begins" : "ends");
  return tokenizer.token_text(*id);
}

bool finds_special(const Tokenizer& tokenizer, int32_t id) {
  const std::vector<int32_t> ids =
      tokenizer.encode(tokenizer.token_text(id), {.add_special = false});
  return ids.size() == 1 && ids[0] == id;
}

}  // namespace

std::vector<std::string> chat_template_names() {
  std::vector<std::string> names;
  for (const ChatTemplate& row : templates()) names.push_back(row.name);
  return names;
}

const ChatTemplate& chat_template(std::string_view name) {
  for (const ChatTemplate& row : templates())
    if (row.name == name) return row;
  raise("{}", unknown_name("chat template", name, chat_template_names()));
}

Marker write_chat(const ChatTemplate& chosen, std::span<const ChatMessage> messages) {
  check_roles(chosen, messages);
  const bool has_system = messages[0].role == "system";
  std::string before;  // the system text that is written inside the first turn of the user
  Marker out = chosen.begin;
  if (!has_system && !chosen.default_system.empty()) {
    append(out, chosen.system.open);
    out.push_back({chosen.default_system});
    append(out, chosen.system.close);
  }
  if (has_system && chosen.system_place == SystemPlace::kInFirstUser) {
    before = plain_text(chosen.system.open) + messages[0].content + plain_text(chosen.system.close);
    messages = messages.subspan(1);
  }
  const bool is_apart = has_system && chosen.system_place == SystemPlace::kFirst;
  if (chosen.alternates) check_alternation(chosen, messages.subspan(is_apart ? 1 : 0));
  for (const ChatMessage& message : messages) {
    const ChatTurn& turn = turn_of(chosen, message.role);
    append(out, turn.open);
    out.push_back({content_of(chosen, message, before)});
    append(out, turn.close);
    before.clear();
  }
  append(out, chosen.answer);
  return out;
}

std::string chat_text(const Marker& conversation, const Tokenizer& tokenizer) {
  std::string text;
  for (const MarkerPart& part : conversation)
    text += part.special == Special::kNone ? part.text : token_text(part.special, tokenizer);
  return text;
}

std::vector<int32_t> encode_chat(const Marker& conversation, const Tokenizer& tokenizer) {
  const std::string whole =
      chat_text(conversation, tokenizer);  // for its Error if a special token is missing
  const auto id_of = [&](const MarkerPart& part) {
    return part.special == Special::kBos ? *tokenizer.bos_id() : *tokenizer.eos_id();
  };
  const bool finds_all =
      std::all_of(conversation.begin(), conversation.end(), [&](const MarkerPart& part) {
        return part.special == Special::kNone || finds_special(tokenizer, id_of(part));
      });
  if (finds_all) return tokenizer.encode(whole, {.add_special = false});
  std::vector<int32_t> ids;
  std::string text;
  const auto flush = [&] {
    if (text.empty()) return;
    const std::vector<int32_t> more =
        tokenizer.encode(text, {.add_special = false, .follows_special = !ids.empty()});
    ids.insert(ids.end(), more.begin(), more.end());
    text.clear();
  };
  for (const MarkerPart& part : conversation) {
    text += part.text;
    if (part.special == Special::kNone) continue;
    flush();
    ids.push_back(id_of(part));
  }
  flush();
  return ids;
}

}  // namespace reprise::tokenizer
