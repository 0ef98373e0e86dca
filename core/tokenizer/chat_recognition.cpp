// Recognizes a family's published Jinja template by words that occur in it, without running it.
#include <algorithm>

#include "core/tokenizer/chat_template.h"

namespace reprise::tokenizer {
namespace {

// Words that a family's published template contains, and words that only later templates contain.
struct Signs {
  const char* name;
  std::vector<std::string_view> has, lacks;
};

const std::vector<Signs>& signs() {
  static const std::vector<Signs> kTable = {
      {"llama-2",
       {"bos_token + '[INST] '", "<<SYS>>", ".strip() + ' [/INST]'", "eos_token",
        "raise_exception"},
       {"USE_DEFAULT_PROMPT", "set system_message = '"}},
      {"llama-3",
       {"'<|start_header_id|>' + message['role'] + '<|end_header_id|>", "<|eot_id|>", "| trim",
        "bos_token"},
       {"Cutting Knowledge"}},
      {"chatml",
       {"'<|im_start|>' + message['role'] + '", "message['content'] + '<|im_end|>' + '\\n'"},
       {"bos_token", "eos_token", "strip", "trim", "set system_message"}},
      {"falcon-instruct",
       {"User: ' + message['content'].strip().replace(", "Assistant:", "system_message.strip()",
        "raise_exception"},
       {"bos_token", "eos_token"}},
      {"zephyr",
       {"'<|user|>\\n' + message['content'] + eos_token }}", "<|system|>", "'<|assistant|>' }}"},
       {"bos_token", "strip", "trim"}},
      {"mistral",
       {"bos_token", "'[INST] ' + message['content'] + ' [/INST]'",
        "message['content'] + eos_token}}", "raise_exception"},
       {"<<SYS>>", "system_message"}},
      {"mistral-0.1",
       {"bos_token", "'[INST] ' + message['content'] + ' [/INST]'",
        "message['content'] + eos_token + ' '", "raise_exception"},
       {"<<SYS>>", "system_message"}},
      {"gemma",
       {"bos_token", "'<start_of_turn>' + role", "'model'", "| trim", "<end_of_turn>",
        "System role not supported"},
       {}},
  };
  return kTable;
}

// Removes blanks, which do not matter in a comparison: "eos_token }}" equals "eos_token}}". Line
// breaks occur in published templates both as characters and as an escape sequence.
std::string without_blanks(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("\\n"))
      ++i;
    else if (text[i] != ' ' && text[i] != '\n')
      out += text[i];
  }
  return out;
}

bool fits(const Signs& sign, const std::string& jinja) {
  const auto holds = [&](std::string_view word) {
    return jinja.find(without_blanks(word)) != jinja.npos;
  };
  return std::all_of(sign.has.begin(), sign.has.end(), holds) &&
         std::none_of(sign.lacks.begin(), sign.lacks.end(), holds);
}

// Some templates add a system turn if the conversation has none. Returns the text of that turn, or
// "" for a template that adds none. Returns nullopt if the text cannot be read.
std::optional<std::string> default_system_of(std::string_view jinja) {
  if (without_blanks(jinja).find("!='system'") == std::string::npos) return "";
  constexpr std::string_view kOpen = "<|im_start|>system\\n", kClose = "<|im_end|>";
  std::string_view open = kOpen;
  size_t at = jinja.find(open);
  if (at == jinja.npos) {
    open = "<|im_start|>system\n";
    at = jinja.find(open);
  }
  if (at == jinja.npos) return std::nullopt;
  const size_t begin = at + open.size(), end = jinja.find(kClose, begin);
  if (end == jinja.npos) return std::nullopt;
  const std::string_view text = jinja.substr(begin, end - begin);
  if (text.find_first_of("'\"\\{}") != text.npos) return std::nullopt;
  return std::string(text);
}

}  // namespace

std::optional<ChatTemplate> recognized_chat_template(std::string_view jinja) {
  const std::string text = without_blanks(jinja);
  if (text.find("tools") != text.npos) return std::nullopt;
  for (const Signs& sign : signs()) {
    if (!fits(sign, text)) continue;
    ChatTemplate found = chat_template(sign.name);
    if (found.name == "chatml") {
      const std::optional<std::string> system = default_system_of(jinja);
      if (!system) return std::nullopt;
      found.default_system = *system;
    }
    return found;
  }
  return std::nullopt;
}

}  // namespace reprise::tokenizer
