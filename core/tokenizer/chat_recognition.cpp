// Recognizes a family's published Jinja template by words that occur in it, without running it.
#include <algorithm>
#include <cstdint>

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
       {"Cutting Knowledge", "<|start_header_id|>system"}},
      {"chatml",
       {"'<|im_start|>' + message['role'] + '\\n", "message['content'] + '<|im_end|>' + '\\n'"},
       {"bos_token", "eos_token", "strip", "trim", "set system_message"}},
      {"falcon-instruct",
       {"User: ' + message['content'].strip().replace(", "Assistant:", "system_message.strip()",
        "raise_exception"},
       {"bos_token", "eos_token"}},
      {"zephyr",
       {"'<|user|>\\n' + message['content'] + eos_token }}\n", "<|system|>",
        "'<|assistant|>' }}\n"},
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

// The part of a Jinja template in which a character stands: text between tags, a tag ({{ }} or
// {% %}), or a string in quotes within a tag.
enum class Place : uint8_t { kText, kTag, kQuote };

// Returns a template, or a part of one that begins in `place`, in a form in which two of them can
// be compared. In a tag, blanks are dropped: "eos_token }}" equals "eos_token}}". In quotes, blanks
// are kept, and a line break written as an escape sequence becomes a line break. In the text
// between tags, the line break behind a {% %} and the blanks at the start of a line are dropped, as
// Jinja drops them.
std::string comparable(std::string_view text, Place place) {
  std::string out;
  char quote = '\'';
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    const char c = text[i];
    if (place == Place::kQuote) {
      if (rest.starts_with("\\n")) {
        out += '\n';
        ++i;
        continue;
      }
      if (c == quote) place = Place::kTag;
      out += c;
      if (c == '\\' && i + 1 < text.size()) out += text[++i];  // an escaped quote ends nothing
    } else if (place == Place::kTag) {
      if (c == ' ' || c == '\n') continue;
      out += c;
      if (c == '\'' || c == '"') {
        quote = c;
        place = Place::kQuote;
      } else if (rest.starts_with("%}") || rest.starts_with("}}")) {
        out += '}';
        place = Place::kText;
        const bool drops_line_break = c == '%' && text.substr(i + 2).starts_with('\n');
        i += drops_line_break ? 2 : 1;
      }
    } else {
      const bool is_at_start = out.empty() || out.back() == '\n' || out.ends_with("%}");
      if (c == ' ' && is_at_start) continue;
      out += c;
      if (rest.starts_with("{%") || rest.starts_with("{{")) {
        out += text[++i];
        place = Place::kTag;
      }
    }
  }
  return out;
}

// Returns whether a template in comparable() form has the word, which may begin in a tag or in
// quotes.
bool has_word(const std::string& jinja, std::string_view word) {
  return jinja.find(comparable(word, Place::kTag)) != jinja.npos ||
         jinja.find(comparable(word, Place::kQuote)) != jinja.npos;
}

bool fits(const Signs& sign, const std::string& jinja) {
  const auto holds = [&](std::string_view word) { return has_word(jinja, word); };
  return std::all_of(sign.has.begin(), sign.has.end(), holds) &&
         std::none_of(sign.lacks.begin(), sign.lacks.end(), holds);
}

// Some templates add a system turn if the conversation has none. Returns the text of that turn in a
// template in comparable() form, or "" for a template that adds none. Returns nullopt if the
// template decides in another way than by `!= 'system'`, or if the text cannot be read.
std::optional<std::string> default_system_of(std::string_view jinja) {
  constexpr std::string_view kOpen = "<|im_start|>system", kClose = "<|im_end|>";
  const bool has_condition = jinja.find("!='system'") != jinja.npos;
  const size_t at = jinja.find(kOpen);
  if ((at != jinja.npos) != has_condition) return std::nullopt;
  if (!has_condition) return "";
  const size_t begin = at + kOpen.size() + 1, end = jinja.find(kClose, begin);
  if (end == jinja.npos || jinja[begin - 1] != '\n' || jinja.find(kOpen, begin) != jinja.npos)
    return std::nullopt;
  const std::string_view text = jinja.substr(begin, end - begin);
  if (text.find_first_of("'\"\\{}") != text.npos) return std::nullopt;
  return std::string(text);
}

}  // namespace

std::optional<ChatTemplate> recognized_chat_template(std::string_view jinja) {
  const std::string text = comparable(jinja, Place::kText);
  if (text.find("tools") != text.npos) return std::nullopt;
  for (const Signs& sign : signs()) {
    if (!fits(sign, text)) continue;
    ChatTemplate found = chat_template(sign.name);
    if (found.name == "chatml") {
      const std::optional<std::string> system = default_system_of(text);
      if (!system) return std::nullopt;
      found.default_system = *system;
    }
    return found;
  }
  return std::nullopt;
}

}  // namespace reprise::tokenizer
