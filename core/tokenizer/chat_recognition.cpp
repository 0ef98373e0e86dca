// Recognizes a family's published Jinja template by the expressions that it writes, without running
// it.
#include <algorithm>

#include "core/tokenizer/chat_template.h"
#include "core/tokenizer/replace_all.h"

namespace reprise::tokenizer {
namespace {

constexpr std::string_view kBlanks = " \t\n\v\f";
constexpr std::string_view kSystemOpen = "'<|im_start|>system\n";

// The condition on which templates whose users and assistants take turns raise an exception.
constexpr std::string_view kOutOfTurn = "(message['role'] == 'user') != (loop.index0 % 2 == 0)";

// A {{ }}, or a {% %} if `writes` is false.
struct Tag {
  bool writes = false;
  // The template's characters between the braces, without blanks outside of quotes.
  std::string code;
  std::string behind;  // the text that the template writes after this tag
};

// The properties by which a family's published template is recognized. Its expressions are the
// codes of its {{ }} and of `set content =`, except those that raise exceptions.
struct Family {
  const char* name;
  // The template has each expression of `must` once, and no others than these and `may`.
  std::vector<std::string_view> must, may = {};
  std::string_view has = {}, lacks = {};  // words of the template's tags
  std::string_view behind = {};           // the text behind each {{ }}
  bool may_add_system = false;            // see default_system_of()
};

Family mistral(const char* name, std::string_view answer) {
  return {.name = name,
          .must = {"bos_token", "'[INST] ' + message['content'] + ' [/INST]'", answer},
          .lacks = "system_message"};
}

const std::vector<Family>& families() {
  static const std::vector<Family> kTable = {
      {.name = "llama-2",
       .must = {"bos_token + '[INST] ' + content.strip() + ' [/INST]'",
                "' ' + content.strip() + ' ' + eos_token",
                "'<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content']"},
       .may = {"message['content']", "'<<SYS>>\\n' + content.strip() + '\\n<</SYS>>\\n\\n'"},
       .lacks = "set system_message = '"},
      {.name = "llama-3",
       .must = {"'<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + "
                "message['content'] | trim + '<|eot_id|>'",
                "'<|start_header_id|>assistant<|end_header_id|>\\n\\n'"},
       .may = {"content", "bos_token + content", "bos_token"},
       .has = "bos_token"},
      {.name = "chatml",
       .must = {"'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
                "'\\n'",
                "'<|im_start|>assistant\\n'"},
       .lacks = "set system_message",
       .may_add_system = true},
      // The published replace() has line breaks "\r\n", not their escape sequences, and Jinja reads
      // each as "\n".
      {.name = "falcon-instruct",
       .must = {"system_message.strip()",
                "'\\n\\nUser: ' + message['content'].strip().replace('\\n', '\\n')"
                ".replace('\\n\\n', '\\n')",
                "'\\n\\nAssistant: ' + message['content'].strip().replace('\\n', '\\n')"
                ".replace('\\n\\n', '\\n')",
                "'\\n\\nAssistant:'"}},
      {.name = "zephyr",
       .must = {"'<|user|>\\n' + message['content'] + eos_token",
                "'<|system|>\\n' + message['content'] + eos_token",
                "'<|assistant|>\\n' + message['content'] + eos_token", "'<|assistant|>'"},
       .behind = "\n"},
      mistral("mistral", "message['content'] + eos_token"),
      mistral("mistral-0.1", "message['content'] + eos_token + ' '"),
      {.name = "gemma",
       .must = {"bos_token",
                "'<start_of_turn>' + role + '\\n' + message['content'] | trim + "
                "'<end_of_turn>\\n'",
                "'<start_of_turn>model\\n'"},
       .has = "set role = 'model'"},
  };
  return kTable;
}

// Returns the code of a tag from `at` to its closing braces or to the end, and moves `at` there.
// Blanks are kept in quotes alone: "eos_token }}" equals "eos_token}}". In quotes, a line break
// written as an escape sequence becomes a line break.
std::string read_code(std::string_view text, size_t& at) {
  std::string code;
  char quote = '\0';  // '\0': outside of quotes
  for (; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    const char c = text[at];
    if (quote != '\0' && rest.starts_with("\\n")) {
      code += '\n';
      ++at;
    } else if (quote != '\0') {
      code += c;
      if (c == quote) quote = '\0';
      if (c == '\\' && at + 1 < text.size()) code += text[++at];  // an escaped quote ends nothing
    } else if (rest.starts_with("%}") || rest.starts_with("}}")) {
      break;
    } else if (c != ' ' && c != '\n') {
      code += c;
      if (c == '\'' || c == '"') quote = c;
    }
  }
  return code;
}

std::string code_of(std::string_view word) {
  size_t at = 0;
  return read_code(word, at);
}

// Returns what Jinja writes of the text between two tags; nullptr is the template's start or end.
// As in transformers, the line break behind a {% %} is dropped, and so are the blanks before one at
// the start of a line. A tag that begins or ends with '-' drops all blanks on this side.
std::string_view written_text(std::string_view text, const Tag* before, const Tag* behind) {
  bool starts_line = before == nullptr;
  if (before != nullptr && !before->writes && text.starts_with('\n')) {
    text.remove_prefix(1);
    starts_line = true;
  }
  const size_t line = text.rfind('\n') + 1;  // 0 if there is no line break
  if (behind != nullptr && !behind->writes && (line > 0 || starts_line) &&
      text.find_first_not_of(" \t", line) == text.npos)
    text = text.substr(0, line);
  if (before != nullptr && before->code.ends_with('-'))
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  if (behind != nullptr && behind->code.starts_with('-'))
    text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
  return text;
}

// Returns the template's tags. Returns nullopt if it writes text that no {{ }} precedes, or if a
// tag keeps blanks with a '+'.
std::optional<std::vector<Tag>> read_tags(std::string_view jinja) {
  std::vector<Tag> tags;
  if (jinja.ends_with('\n')) jinja.remove_suffix(1);  // as Jinja does
  for (size_t at = 0; at < jinja.size();) {
    const size_t open = std::min({jinja.find("{{", at), jinja.find("{%", at), jinja.size()});
    const std::string_view between = jinja.substr(at, open - at);
    Tag next;
    at = open;
    if (open < jinja.size()) {
      next.writes = jinja[open + 1] == '{';
      next.code = read_code(jinja, at += 2);
      at += 2;
    }
    const Tag* before = tags.empty() ? nullptr : &tags.back();
    const std::string_view text =
        written_text(between, before, open < jinja.size() ? &next : nullptr);
    if (!text.empty() && (before == nullptr || !before->writes)) return std::nullopt;
    if (next.code.starts_with('+') || next.code.ends_with('+')) return std::nullopt;
    if (before != nullptr) tags.back().behind = text;
    if (open < jinja.size()) tags.push_back(std::move(next));
  }
  return tags;
}

// Returns the tag's expression, or nullopt if it has none or raises an exception.
std::optional<std::string_view> expression_of(const Tag& tag) {
  constexpr std::string_view kSet = "setcontent=";
  std::string_view code = tag.code;
  if (code.starts_with('-')) code.remove_prefix(1);
  if (code.ends_with('-')) code.remove_suffix(1);
  if (tag.writes) return code.starts_with("raise_exception(") ? std::nullopt : std::optional(code);
  return code.starts_with(kSet) ? std::optional(code.substr(kSet.size())) : std::nullopt;
}

bool fits(const Family& family, bool alternates, const std::vector<Tag>& tags) {
  std::vector<std::string> must, may;
  for (const std::string_view word : family.must) must.push_back(code_of(word));
  for (const std::string_view word : family.may) may.push_back(code_of(word));
  for (const Tag& tag : tags) {
    const auto code = expression_of(tag);
    if (!code) continue;
    if (tag.writes && tag.behind != family.behind) return false;
    if (const auto found = std::find(must.begin(), must.end(), *code); found != must.end()) {
      must.erase(found);
    } else if (std::find(may.begin(), may.end(), *code) == may.end() &&
               !(family.may_add_system && code->starts_with(kSystemOpen))) {
      return false;
    }
  }
  const auto holds = [&](std::string_view word) {
    return std::any_of(tags.begin(), tags.end(), [code = code_of(word)](const Tag& tag) {
      return tag.code.find(code) != tag.code.npos;
    });
  };
  return must.empty() && holds(kOutOfTurn) == alternates &&
         holds("raise_exception") == alternates && holds(family.has) &&
         (family.lacks.empty() || !holds(family.lacks));
}

// Some templates add a system turn if the conversation has none. Returns the text of that turn, or
// "" for a template that adds none. Returns nullopt if the template decides in another way than by
// `!= 'system'`, or if the text cannot be read.
std::optional<std::string> default_system_of(const std::vector<Tag>& tags) {
  std::vector<std::string_view> turns;
  bool has_condition = false;
  for (const Tag& tag : tags) {
    has_condition |= tag.code.find("!='system'") != tag.code.npos;
    if (const auto code = expression_of(tag); code && code->starts_with(kSystemOpen))
      turns.push_back(*code);
  }
  if (turns.size() != (has_condition ? 1 : 0)) return std::nullopt;
  if (turns.empty()) return "";
  for (const std::string_view close : {"<|im_end|>\n'", "<|im_end|>'+'\n'"}) {
    if (!turns[0].ends_with(close)) continue;
    std::string_view text = turns[0].substr(kSystemOpen.size());
    text.remove_suffix(close.size());
    if (!text.empty() && text.find_first_of("'\"\\{}") == text.npos) return std::string(text);
  }
  return std::nullopt;
}

}  // namespace

std::optional<ChatTemplate> recognized_chat_template(std::string_view jinja) {
  std::string text(jinja);
  replace_all(text, "\r\n", "\n");  // as Jinja does
  if (text.find("tools") != text.npos) return std::nullopt;
  const auto tags = read_tags(text);
  if (!tags) return std::nullopt;
  for (const Family& family : families()) {
    ChatTemplate found = chat_template(family.name);
    if (!fits(family, found.alternates, *tags)) continue;
    if (family.may_add_system) {
      const std::optional<std::string> system = default_system_of(*tags);
      if (!system) return std::nullopt;
      found.default_system = *system;
    }
    return found;
  }
  return std::nullopt;
}

}  // namespace reprise::tokenizer
