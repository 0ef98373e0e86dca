#include "core/tokenizer/chat_template.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "core/tokenizer/tokenizer_config.h"
#include "tests/core/tokenizer/tokenizer_testing.h"
#include "tests/support/json.h"

namespace reprise::tokenizer {
namespace {

Json golden() {
  return read_json(std::filesystem::path(REPRISE_SOURCE_DIR) /
                   "tests/core/tokenizer/chat_golden.json");
}

std::vector<ChatMessage> messages_of(const Json& conversation) {
  std::vector<ChatMessage> messages;
  for (const Json& message : conversation)
    messages.push_back({message["role"].get<std::string>(), message["content"].get<std::string>()});
  return messages;
}

// The conversation's text with <s> and </s>, as the golden texts write them.
std::string text_of(const Marker& conversation) {
  std::string text;
  for (const MarkerPart& part : conversation)
    text += part.special == Special::kNone  ? part.text
            : part.special == Special::kBos ? "<s>"
                                            : "</s>";
  return text;
}

// True where a system message is not first or is alone. In these cases published templates leave
// the message out, or make up a turn that the model never saw.
bool has_odd_system(const std::vector<ChatMessage>& messages) {
  if (messages.size() == 1) return messages[0].role == "system";
  return std::any_of(messages.begin() + 1, messages.end(),
                     [](const ChatMessage& message) { return message.role == "system"; });
}

TEST(ChatTemplate, WritesWhatTransformersWrites) {
  const Json json = golden();
  int written = 0, refused = 0, stricter = 0;
  for (const Json& row : json["templates"]) {
    ChatTemplate chosen = chat_template(row["name"].get<std::string>());
    chosen.default_system = row["default_system"].get<std::string>();
    for (size_t i = 0; i < json["conversations"].size(); ++i) {
      const std::vector<ChatMessage> messages = messages_of(json["conversations"][i]);
      const Json& answer = row["answers"][i];
      const std::string what = chosen.name + ", conversation " + std::to_string(i);
      try {
        const std::string text = text_of(write_chat(chosen, messages));
        ASSERT_FALSE(answer.is_null()) << what << " should be refused, and gave " << text;
        EXPECT_EQ(text, answer.get<std::string>()) << what;
        ++written;
      } catch (const Error& error) {
        if (answer.is_null()) {
          ++refused;
          continue;
        }
        EXPECT_TRUE(has_odd_system(messages)) << what << ": " << error.what();
        ++stricter;
      }
    }
  }
  EXPECT_GT(written, 100);
  EXPECT_GT(refused, 20);
  EXPECT_GT(stricter, 0);
}

TEST(ChatTemplate, EveryFamilyHasGoldenTexts) {
  const Json json = golden();
  for (const std::string& name : chat_template_names()) {
    bool is_there = false;
    for (const Json& row : json["templates"]) is_there |= row["name"] == name;
    EXPECT_TRUE(is_there) << name;
  }
}

TEST(ChatTemplate, RefusalsNameTheMessageAndTheRule) {
  const auto refusal = [](const char* name, const std::vector<ChatMessage>& messages) {
    return error_of([&] { (void)write_chat(chat_template(name), messages); });
  };
  EXPECT_EQ(refusal("llama-3", {}), "a conversation without messages: give one at least");
  EXPECT_EQ(refusal("llama-3", {{"usr", "a"}}),
            "unknown role \"usr\", did you mean \"user\"? Known: system, user, assistant");
  const std::string none =
      "chat template gemma knows no system message: put it into the first user's message";
  EXPECT_EQ(refusal("gemma", {{"system", "a"}, {"user", "b"}}), none);
  EXPECT_EQ(refusal("gemma", {{"user", "a"}, {"system", "b"}, {"user", "c"}}), none);
  EXPECT_EQ(refusal("llama-2", {{"user", "a"}, {"system", "b"}}),
            "message 2 is the system's: with chat template llama-2 the first one alone may be");
  EXPECT_EQ(refusal("mistral", {{"user", "a"}, {"user", "b"}}),
            "with chat template mistral the user begins, and user and assistant take turns; turn 2 "
            "is the user's");
  EXPECT_TRUE(
      error_of([] {
        (void)chat_template("llama2");
      }).starts_with("unknown chat template \"llama2\", did you mean \"llama-2\"? Known: "));
}

std::string recognized_name(const std::string& jinja) {
  const std::optional<ChatTemplate> found = recognized_chat_template(jinja);
  return found ? found->name : "";
}

const std::string kChatmlTurn =
    "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}";
const std::string kChatmlOpening = "{{ '<|im_start|>assistant\\n' }}";
const std::string kBeKind = "{{ '<|im_start|>system\\nBe kind.<|im_end|>\\n' }}";
const std::string kIsAsked = "{% if add_generation_prompt %}";

std::string loop(const std::string& turn, const std::string& over = "messages") {
  return "{% for message in " + over + " %}" + turn + "{% endfor %}";
}

std::string condition(const std::string& test, const std::string& body) {
  return "{% if " + test + " %}" + body + "{% endif %}";
}

const std::string kChatml = loop(kChatmlTurn) + kChatmlOpening;
const std::string kOutOfTurn = condition("(message['role'] == 'user') != (loop.index0 % 2 == 0)",
                                         "{{ raise_exception('no') }}");

std::string mistral(const std::string& open, const std::string& close,
                    const std::string& answer = "message['content']") {
  return "{{ bos_token }}" +
         loop(kOutOfTurn + condition("message['role'] == 'user'",
                                     "{{ '" + open + "' + message['content'] + '" + close +
                                         "' }}{% elif message['role'] == 'assistant' %}{{ " +
                                         answer + " + eos_token}}"));
}

std::string llama_3(const std::string& with_bos) {
  return "{% set loop_messages = messages %}" +
         loop(
             "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' "
             "+ message['content'] | trim + '<|eot_id|>' %}" +
                 with_bos + "{{ content }}",
             "loop_messages") +
         "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}";
}

// A template that sets system_message to a leading system message, or to `none` if there is none,
// and then writes the other messages by `turn`.
std::string with_system_first(const std::string& none, const std::string& turn) {
  return condition("messages[0]['role'] == 'system'",
                   "{% set loop_messages = messages[1:] %}"
                   "{% set system_message = messages[0]['content'] %}{% else %}"
                   "{% set loop_messages = messages %}{% set system_message = " +
                       none + " %}") +
         loop(kOutOfTurn + turn, "loop_messages");
}

// Templates of our own, with the expressions by which a family is recognized. They write line
// breaks as \n or as line breaks.
TEST(ChatTemplate, IsRecognizedByWhatItWrites) {
  EXPECT_EQ(recognized_name(kChatml), "chatml");
  EXPECT_EQ(recognized_name(loop(kChatmlTurn) + kIsAsked + kChatmlOpening + "{% endif %}"),
            "chatml");
  EXPECT_EQ(recognized_name(loop("{{ '<|im_start|>'+message['role']+'\n'+message['content']+"
                                 "'<|im_end|>'+'\n' }}") +
                            "{{\"<|im_start|>assistant\n\"}}"),
            "chatml");
  EXPECT_EQ(recognized_name("{% if tools %}" + kChatml), "");
  EXPECT_EQ(recognized_name("{{ bos_token }}" + kChatml), "");
  EXPECT_EQ(recognized_name("{# note #}" + kChatml), "");
  EXPECT_EQ(recognized_name("{% endif %}" + kChatml), "");
  EXPECT_EQ(recognized_name(kChatmlOpening + loop(kChatmlTurn)), "");
  EXPECT_EQ(recognized_name(kChatml + kChatmlOpening), "");
  EXPECT_EQ(recognized_name(""), "");
  EXPECT_EQ(recognized_name("{{ messages[0]['content'] }}"), "");
}

TEST(ChatTemplate, ItsOwnSystemMessageIsRead) {
  const std::string none = "messages[0]['role'] != 'system'";
  for (const std::string& text :
       {condition(none, kBeKind) + kChatml,
        loop(condition("loop.first and " + none, kBeKind) + kChatmlTurn) + kChatmlOpening}) {
    const auto found = recognized_chat_template(text);
    ASSERT_TRUE(found.has_value()) << text;
    EXPECT_EQ(found->default_system, "Be kind.");
  }
  for (const char* system : {"Be kind.<|im_end|>", "<|im_end|>\\n", "It\\'s.<|im_end|>\\n"})
    EXPECT_EQ(
        recognized_name(
            condition(none, "{{ '<|im_start|>system\\n" + std::string(system) + "' }}") + kChatml),
        "");
  EXPECT_EQ(recognized_name(condition(none, "{{ date }}") + kChatml), "");
  EXPECT_EQ(recognized_name(condition("not messages[0]['role'] == 'system'", kBeKind) + kChatml),
            "");
}

// These templates write a family's texts, but for other messages or under other conditions.
TEST(ChatTemplate, IsNotRecognizedIfItsConditionsOrLoopsDiffer) {
  const std::string turns = loop(kChatmlTurn);
  for (const std::string& text : {
           loop(condition("message['role'] in ['user', 'assistant']", kChatmlTurn)) +
               kChatmlOpening,
           "{% set messages = messages | selectattr('role', 'ne', 'system') | list %}" + kChatml,
           loop(kChatmlTurn, "messages[-3:]") + kChatmlOpening,
           turns + condition("add_generation_prompt and messages[-1]['role'] != 'user'",
                             kChatmlOpening),
           loop(condition("message['role'] != 'system'", kBeKind) + kChatmlTurn) + kChatmlOpening,
           loop(condition("not loop.first or messages[0]['role'] != 'system'", kBeKind) +
                kChatmlTurn) +
               kChatmlOpening,
           loop(condition("messages[0]['role'] != 'system'", kBeKind) + kChatmlTurn) +
               kChatmlOpening,
           loop("{% if loop.first %}{% elif message['role'] == 'user' %}" + kChatmlTurn +
                "{% endif %}") +
               kChatmlOpening,
       })
    EXPECT_EQ(recognized_name(text), "") << text;
  const std::string bos = "{% set content = bos_token + content %}";
  EXPECT_EQ(recognized_name(llama_3(condition("loop.index0 == 0", bos))), "llama-3");
  EXPECT_EQ(recognized_name(llama_3(bos)), "");
  const auto llama_2 = [](const std::string& none) {
    return with_system_first(
        none, condition("loop.index0 == 0 and system_message != false",
                        "{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + "
                        "message['content'] %}{% else %}{% set content = message['content'] %}") +
                  condition("message['role'] == 'user'",
                            "{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
                            "{% elif message['role'] == 'assistant' %}"
                            "{{ ' ' + content.strip() + ' ' + eos_token }}"));
  };
  EXPECT_EQ(recognized_name(llama_2("false")), "llama-2");
  EXPECT_EQ(recognized_name(llama_2("'Be kind.'")), "");
  EXPECT_EQ(recognized_name(llama_2("\"You're helpful.\"")), "");
}

TEST(ChatTemplate, IsNotRecognizedIfItOpensTheAnswerInAnotherWay) {
  EXPECT_EQ(recognized_name(loop(kChatmlTurn)), "");
  EXPECT_EQ(recognized_name(loop(kChatmlTurn) + "{{ '<|im_start|>assistant\\n<think>\\n' }}"), "");
}

TEST(ChatTemplate, IsNotRecognizedIfItRefusesOtherOrders) {
  const std::string turn =
      "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + "
      "message['content'] | trim + '<|eot_id|>' }}";
  const auto llama = [](const std::string& turns) {
    return "{{ bos_token }}" + loop(turns) +
           "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}";
  };
  EXPECT_EQ(recognized_name(llama(turn)), "llama-3");
  EXPECT_EQ(recognized_name(llama(kOutOfTurn + turn)), "");
  EXPECT_EQ(recognized_name(loop(kOutOfTurn + kChatmlTurn) + kChatmlOpening), "");
}

// Blanks and line breaks in quotes and between tags are part of a prompt. So a template with other
// blanks belongs to no known family.
TEST(ChatTemplate, IsNotRecognizedIfItsBlanksDiffer) {
  EXPECT_EQ(recognized_name(mistral("[INST] ", " [/INST]")), "mistral");
  std::string quoted = mistral("[INST] ", " [/INST]");
  quoted.replace(quoted.find("'no'"), 4, "'it\\'s }} no'");
  EXPECT_EQ(recognized_name(quoted), "mistral");
  EXPECT_EQ(recognized_name(mistral("[INST]", "[/INST]")), "");
  EXPECT_EQ(recognized_name(mistral("[INST]\\n", "\\n[/INST]")), "");
  EXPECT_EQ(recognized_name(mistral("[INST] ", " [/INST]", "' ' + message['content']")), "");
  const auto zephyr = [](const std::string& after) {
    std::string text = "{% for message in messages %}\n", next = "{% if";
    for (const char* role : {"user", "system", "assistant"}) {
      text += next + " message['role'] == '" + role + "' %}\n{{ '<|" + role +
              "|>\\n' + message['content'] + eos_token }}" + after;
      next = "{% elif";
    }
    return text +
           "{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}" +
           after + "{% endif %}\n{% endfor %}";
  };
  EXPECT_EQ(recognized_name(zephyr("\n")), "zephyr");
  EXPECT_EQ(recognized_name(zephyr("")), "");
  const std::string other_blank =
      "{{'<|im_start|>' + message['role'] + ' ' + message['content'] + '<|im_end|>' + '\\n'}}";
  EXPECT_EQ(recognized_name(loop(other_blank) + kChatmlOpening), "");
}

// transformers drops a line break behind a {% %} and the blanks before a {% %}. Around a {{ }} it
// drops blanks and line breaks only if a '-' asks for it.
TEST(ChatTemplate, BlanksBetweenTagsAreDroppedAsInJinja) {
  const auto lines = [](const std::string& before, const std::string& behind) {
    return "{% for message in messages %}\n" + before + kChatmlTurn + behind +
           "{% endfor %}\n  {% if add_generation_prompt %}\n" + kChatmlOpening + "{% endif %}\n";
  };
  EXPECT_EQ(recognized_name(lines("", "")), "chatml");
  EXPECT_EQ(recognized_name(lines("    ", "\n")), "");
  EXPECT_EQ(recognized_name(lines("    ", "")), "");
  EXPECT_EQ(recognized_name(lines("", "\n")), "");
  std::string dashes = lines("    ", "\n");
  for (const auto& [from, to] : {std::pair("{{'", "{{- '"), std::pair("{% end", "{%- end")})
    for (size_t at = 0; (at = dashes.find(from, at)) != dashes.npos; ++at)
      dashes.replace(at, std::string_view(from).size(), to);
  EXPECT_EQ(recognized_name(dashes), "chatml");
}

// Jinja reads the two characters of a line break "\r\n" as one, but not their escape sequences.
TEST(ChatTemplate, FalconsLineBreaksAreReadAsInJinja) {
  const auto falcon = [](const std::string& line_break) {
    const auto turn = [&](const char* name) {
      return "{{ '\n\n" + std::string(name) + ": ' + message['content'].strip().replace('" +
             line_break + "', '\n').replace('\n\n', '\n') }}";
    };
    return with_system_first(
               "''", condition("loop.index0 == 0", "{{ system_message.strip() }}") +
                         condition("message['role'] == 'user'",
                                   turn("User") + "{% elif message['role'] == 'assistant' %}" +
                                       turn("Assistant"))) +
           "{{ '\n\nAssistant:' }}";
  };
  EXPECT_EQ(recognized_name(falcon("\r\n")), "falcon-instruct");
  EXPECT_EQ(recognized_name(falcon("\\r\\n")), "");
}

// Reads the published templates themselves, if REPRISE_CHAT_TEMPLATES names a folder with a file
// FAMILY.jinja for each family.
TEST(ChatTemplate, PublishedTemplatesAreRecognized) {
  const char* folder = std::getenv("REPRISE_CHAT_TEMPLATES");
  if (folder == nullptr)
    GTEST_SKIP() << "REPRISE_CHAT_TEMPLATES is not set: no published templates here";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string stem = file.path().stem().string();
    const auto found = recognized_chat_template(read_file(file.path()));
    ASSERT_TRUE(found.has_value()) << stem;
    EXPECT_EQ(found->name, stem.substr(0, stem.find('+')));
    EXPECT_EQ(found->default_system.empty(), stem.find('+') == stem.npos) << stem;
  }
}

TEST(ChatTemplate, IsReadFromTheTokenizersFolder) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("reprise_chat_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
  };
  write("tokenizer_config.json", R"({"chat_template": "one"})");
  EXPECT_EQ(read_tokenizer_config(folder).chat_template, "one");
  write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "a"},
                                                       {"name": "default", "template": "b"}]})");
  EXPECT_EQ(read_tokenizer_config(folder).chat_template, "b");
  write("chat_template.jinja", "c");
  EXPECT_EQ(read_tokenizer_config(folder).chat_template, "c");
  std::filesystem::remove_all(folder);
}

// Special tokens are inserted by their ids if the tokenizer does not find them in a text; otherwise
// the whole text is encoded.
TEST(ChatTemplate, TokensAreThoseOfTheWholeText) {
  const JsonTokenizer tokenizer = make_tokenizer(llama_json());
  const Marker conversation =
      write_chat(chat_template("llama-2"), std::vector<ChatMessage>{{"user", "ab"}});
  const std::vector<int32_t> ids = encode_chat(conversation, tokenizer);
  EXPECT_EQ(chat_text(conversation, tokenizer), "<s>[INST] ab [/INST]");
  EXPECT_EQ(ids, tokenizer.encode("<s>[INST] ab [/INST]", {.add_special = false}));
  EXPECT_EQ(ids.front(), 1);
  const std::unique_ptr<Tokenizer> pieces =
      load_tokenizer(std::filesystem::path(REPRISE_SOURCE_DIR) / "models/quickstart");
  std::vector<int32_t> wanted = pieces->encode("[INST] ab [/INST]", {.add_special = false});
  wanted.insert(wanted.begin(), *pieces->bos_id());
  EXPECT_EQ(encode_chat(conversation, *pieces), wanted);
}

// LlamaTokenizer's settings decide which texts get a space mark in front.
TEST(ChatTemplate, TextsBehindSpecialTokensGetASpaceMarkUnlessTheSettingsSayNo) {
  const Marker conversation =
      write_chat(chat_template("llama-2"), std::vector<ChatMessage>{{"user", "ab"}});
  const auto first_tokens = [&](const std::string& settings) {
    const auto folder = std::filesystem::temp_directory_path() /
                        ("reprise_legacy_settings" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    std::filesystem::copy_file(
        std::filesystem::path(REPRISE_SOURCE_DIR) / "models/quickstart/tokenizer.model",
        folder / "tokenizer.model");
    std::ofstream(folder / "tokenizer_config.json")
        << R"({"tokenizer_class": "LlamaTokenizer")" << settings << "}";
    const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(folder);
    std::filesystem::remove_all(folder);
    const std::string mark = "\xE2\x96\x81";
    const auto is_marked = [&](int32_t id) { return tokenizer->token_text(id).starts_with(mark); };
    const std::vector<int32_t> chat = encode_chat(conversation, *tokenizer);
    EXPECT_EQ(tokenizer->decode(chat, {.skip_special = true}).find("[INST] ab [/INST]"), 0u);
    return std::pair(is_marked(chat.at(1)),
                     is_marked(tokenizer->encode("ab", {.add_special = false}).at(0)));
  };
  EXPECT_EQ(first_tokens(""), std::pair(true, true));
  EXPECT_EQ(first_tokens(R"(, "legacy": true)"), std::pair(true, true));
  EXPECT_EQ(first_tokens(R"(, "legacy": false)"), std::pair(false, true));
  EXPECT_EQ(first_tokens(R"(, "add_prefix_space": false)"), std::pair(false, false));
}

}  // namespace
}  // namespace reprise::tokenizer
