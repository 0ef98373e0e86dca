// Recognizes a family's published Jinja template by what it writes and sets, and in which blocks,
// without running it.
#include <fmt/format.h>

#include <algorithm>

#include "core/tokenizer/chat_template.h"
#include "core/tokenizer/replace_all.h"

namespace reprise::tokenizer {
namespace {

constexpr std::string_view kBlanks = " \t\n\v\f";
constexpr std::string_view kSystemOpen = "'<|im_start|>system\n";
constexpr std::string_view kRaise = "raise_exception(";

// A {{ }}, or a {% %} if `writes` is false.
struct Tag {
  bool writes = false;
  // The template's characters between the braces, without blanks outside of quotes.
  std::string code;
  std::string behind;  // the text that the template writes after this tag
};

// Returns the code of a tag from `at` to its closing braces or to the end, and moves `at` there.
// Blanks are kept in quotes alone: "eos_token }}" equals "eos_token}}". In quotes, a line break
// written as an escape sequence becomes a line break. Double quotes become single ones unless there
// is a single one between them.
std::string read_code(std::string_view text, size_t& at) {
  std::string code;
  char quote = '\0';  // '\0': outside of quotes
  size_t open = 0;    // where the quotes open
  for (; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    const char c = text[at];
    if (quote != '\0' && rest.starts_with("\\n")) {
      code += '\n';
      ++at;
    } else if (quote != '\0') {
      code += c;
      if (c == quote && code.find('\'', open) == code.npos) code[open] = code.back() = '\'';
      if (c == quote) quote = '\0';
      if (c == '\\' && at + 1 < text.size()) code += text[++at];  // an escaped quote ends nothing
    } else if (rest.starts_with("%}") || rest.starts_with("}}")) {
      break;
    } else if (c != ' ' && c != '\n') {
      if (c == '\'' || c == '"') {
        quote = c;
        open = code.size();
      }
      code += c;
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

// Returns the template's tags. Returns nullopt if the template writes text at its start or directly
// after a {% %}, or if a tag begins or ends with '+', which keeps the blanks on this side.
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

// Returns the tag's code without the '-' at its ends. Each exception equals another, and so does
// each system message of ChatML, which has its text in the template.
std::string_view plain_code(const Tag& tag) {
  std::string_view code = tag.code;
  if (code.starts_with('-')) code.remove_prefix(1);
  if (code.ends_with('-')) code.remove_suffix(1);
  for (const std::string_view same : {kRaise, kSystemOpen})
    if (tag.writes && code.starts_with(same)) return same;
  return code;
}

// A {{ }} or a {% set %} that a template must have. It is written as the statements of the blocks
// around it, the outermost first and each with a ';', and then its code.
struct Step {
  std::vector<std::string> ways;  // a template has one of these
  bool is_optional = false;

  [[nodiscard]] bool has(const std::string& action) const {
    return std::find(ways.begin(), ways.end(), action) != ways.end();
  }
};

// A family's published templates have these steps in this order, and no others.
struct Family {
  std::string name;
  std::vector<Step> steps;
  std::string_view behind = {};  // the text behind each {{ }}, except those that raise exceptions
};

Step step(const std::vector<std::string>& ways) {
  Step made;
  for (const std::string& way : ways) made.ways.push_back(code_of(way));
  return made;
}

Step optional_step(const std::vector<std::string>& ways) {
  Step made = step(ways);
  made.is_optional = true;
  return made;
}

const std::string kTurns = "for message in messages; ";
const std::string kLaterTurns = "for message in loop_messages; ";
const std::string kIfSystem = "if messages[0]['role'] == 'system'; ";
const std::string kIfUser = "if message['role'] == 'user'; ";
const std::string kElifSystem = "elif message['role'] == 'system'; ";
const std::string kElifAssistant = "elif message['role'] == 'assistant'; ";
// Templates whose users and assistants take turns raise an exception on this condition.
const std::string kOutOfTurn =
    "if (message['role'] == 'user') != (loop.index0 % 2 == 0); raise_exception(";

// The text that opens the answer.
Step opening(const std::string& code) { return step({code, "if add_generation_prompt; " + code}); }

// A family that reads the system message before the turns. If there is none, `none` stands for it.
Family with_system_first(const char* name, const std::string& none, std::vector<Step> turns) {
  Family made{.name = name,
              .steps = {step({kIfSystem + "set loop_messages = messages[1:]"}),
                        step({kIfSystem + "set system_message = messages[0]['content']"}),
                        step({"else; set loop_messages = messages"}),
                        step({"else; set system_message = " + none})}};
  made.steps.insert(made.steps.end(), turns.begin(), turns.end());
  return made;
}

Family llama_2_family() {
  return with_system_first(
      "llama-2", "false",
      {step({kLaterTurns + kOutOfTurn}),
       step({kLaterTurns + "if loop.index0 == 0 and system_message != false; set content = "
                           "'<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + "
                           "message['content']"}),
       step({kLaterTurns + "else; set content = message['content']"}),
       step({kLaterTurns + kIfUser + "bos_token + '[INST] ' + content.strip() + ' [/INST]'"}),
       optional_step(
           {kLaterTurns + kElifSystem + "'<<SYS>>\\n' + content.strip() + '\\n<</SYS>>\\n\\n'"}),
       step({kLaterTurns + kElifAssistant + "' ' + content.strip() + ' ' + eos_token"})});
}

// The published template puts bos_token before the first message; others write it at the start.
std::vector<Family> llama_3_families() {
  const std::string turn =
      "'<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + "
      "message['content'] | trim + '<|eot_id|>'";
  const Step last = opening("'<|start_header_id|>assistant<|end_header_id|>\\n\\n'");
  return {{.name = "llama-3",
           .steps = {step({"set loop_messages = messages"}),
                     step({kLaterTurns + "set content = " + turn}),
                     step({kLaterTurns + "if loop.index0 == 0; set content = bos_token + content"}),
                     step({kLaterTurns + "content"}), last}},
          {.name = "llama-3", .steps = {step({"bos_token"}), step({kTurns + turn}), last}}};
}

Family chatml_family() {
  const std::string open = "'<|im_start|>assistant\\n'";
  const std::string system(kSystemOpen);
  return {.name = "chatml",
          .steps = {optional_step(
                        {"if messages[0]['role'] != 'system'; " + system,
                         kTurns + "if loop.first and messages[0]['role'] != 'system'; " + system,
                         kTurns + "if loop.first and message['role'] != 'system'; " + system}),
                    step({kTurns + "'<|im_start|>' + message['role'] + '\\n' + "
                                   "message['content'] + '<|im_end|>' + '\\n'"}),
                    step({open, "if add_generation_prompt; " + open,
                          kTurns + "if loop.last and add_generation_prompt; " + open})}};
}

Family falcon_instruct_family() {
  // The published replace() has line breaks "\r\n", not their escape sequences, and Jinja reads
  // each as "\n".
  const std::string content =
      "message['content'].strip().replace('\\n', '\\n').replace('\\n\\n', '\\n')";
  return with_system_first(
      "falcon-instruct", "''",
      {step({kLaterTurns + kOutOfTurn}),
       step({kLaterTurns + "if loop.index0 == 0; system_message.strip()"}),
       step({kLaterTurns + kIfUser + "'\\n\\nUser: ' + " + content}),
       step({kLaterTurns + kElifAssistant + "'\\n\\nAssistant: ' + " + content}),
       opening("'\\n\\nAssistant:'")});
}

Family zephyr_family() {
  const std::string rest = "message['content'] + eos_token";
  return {.name = "zephyr",
          .steps = {step({kTurns + kIfUser + "'<|user|>\\n' + " + rest}),
                    step({kTurns + kElifSystem + "'<|system|>\\n' + " + rest}),
                    step({kTurns + kElifAssistant + "'<|assistant|>\\n' + " + rest}),
                    step({kTurns + "if loop.last and add_generation_prompt; '<|assistant|>'"})},
          .behind = "\n"};
}

Family mistral_family(const char* name, const std::string& answer) {
  return {.name = name,
          .steps = {step({"bos_token"}), step({kTurns + kOutOfTurn}),
                    step({kTurns + kIfUser + "'[INST] ' + message['content'] + ' [/INST]'"}),
                    step({kTurns + kElifAssistant + answer}),
                    optional_step({kTurns + "else; raise_exception("})}};
}

Family gemma_family() {
  return {.name = "gemma",
          .steps = {step({"bos_token"}), optional_step({kIfSystem + "raise_exception("}),
                    step({kTurns + kOutOfTurn}),
                    step({kTurns + "if (message['role'] == 'assistant'); set role = 'model'"}),
                    step({kTurns + "else; set role = message['role']"}),
                    step({kTurns + "'<start_of_turn>' + role + '\\n' + message['content'] | trim + "
                                   "'<end_of_turn>\\n'"}),
                    opening("'<start_of_turn>model\\n'")}};
}

std::vector<Family> all_families() {
  std::vector<Family> all = llama_3_families();
  for (Family& family : std::vector<Family>{
           llama_2_family(), chatml_family(), falcon_instruct_family(), zephyr_family(),
           mistral_family("mistral", "message['content'] + eos_token"),
           mistral_family("mistral-0.1", "message['content'] + eos_token + ' '"), gemma_family()})
    all.push_back(std::move(family));
  // Some templates begin with this. It has no effect, because chats always ask for an answer.
  for (Family& family : all)
    family.steps.insert(family.steps.begin(),
                        optional_step({"if not add_generation_prompt is defined; "
                                       "set add_generation_prompt = false"}));
  return all;
}

// True if a block that opens with `statement` stands around a step of the family.
bool knows(const Family& family, std::string_view statement) {
  const std::string block = fmt::format(";{};", statement);
  return std::any_of(family.steps.begin(), family.steps.end(), [&](const Step& step) {
    return std::any_of(step.ways.begin(), step.ways.end(), [&](const std::string& way) {
      return (";" + way).find(block) != std::string::npos;
    });
  });
}

bool fits(const Family& family, const std::vector<Tag>& tags) {
  std::vector<std::string> blocks;  // the statements that opened them
  auto next = family.steps.begin();
  const auto end = family.steps.end();
  for (const Tag& tag : tags) {
    const std::string_view code = plain_code(tag);
    if (!tag.writes && !code.starts_with("set")) {
      if (code.starts_with("e")) {  // else, elif, endif, endfor
        if (blocks.empty()) return false;
        blocks.pop_back();
      }
      if (code.starts_with("end")) continue;
      if (!knows(family, code)) return false;
      blocks.push_back(fmt::format("{};", code));
      continue;
    }
    if (tag.writes && code != kRaise && tag.behind != family.behind) return false;
    const std::string action = fmt::format("{}{}", fmt::join(blocks, ""), code);
    while (next != end && next->is_optional && !next->has(action)) ++next;
    if (next == end || !next->has(action)) return false;
    ++next;
  }
  return std::all_of(next, end, [](const Step& step) { return step.is_optional; });
}

// Some templates add a system turn if the conversation has none. Returns the text of that turn, or
// "" for a template that adds none. Returns nullopt if the text cannot be read.
std::optional<std::string> default_system_of(const std::vector<Tag>& tags) {
  const auto tag = std::find_if(tags.begin(), tags.end(), [](const Tag& each) {
    return each.writes && plain_code(each) == kSystemOpen;
  });
  if (tag == tags.end()) return "";
  std::string_view code = tag->code;
  if (code.ends_with('-')) code.remove_suffix(1);
  for (const std::string_view close : {"<|im_end|>\n'", "<|im_end|>'+'\n'"}) {
    if (!code.ends_with(close)) continue;
    code.remove_suffix(close.size());
    const std::string_view text = code.substr(code.find(kSystemOpen) + kSystemOpen.size());
    if (!text.empty() && text.find_first_of("'\"\\{}") == text.npos) return std::string(text);
  }
  return std::nullopt;
}

}  // namespace

std::optional<ChatTemplate> recognized_chat_template(std::string_view jinja) {
  std::string text(jinja);
  replace_all(text, "\r\n", "\n");  // as Jinja does
  const auto tags = read_tags(text);
  if (!tags) return std::nullopt;
  static const std::vector<Family> kFamilies = all_families();
  for (const Family& family : kFamilies) {
    if (!fits(family, *tags)) continue;
    const std::optional<std::string> system = default_system_of(*tags);
    if (!system) return std::nullopt;
    ChatTemplate found = chat_template(family.name);
    found.default_system = *system;
    return found;
  }
  return std::nullopt;
}

}  // namespace reprise::tokenizer
