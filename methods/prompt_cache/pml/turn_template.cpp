#include "methods/prompt_cache/pml/turn_template.h"

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/tokenizer/tokenizer_config.h"

namespace reprise::pml {
namespace {

const MarkerPart kBos = {"", Special::kBos};
const MarkerPart kEos = {"", Special::kEos};
const MarkerPart kOpening = {"", Special::kOpening};

Marker joined(Marker first, const Marker& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// The markers of a model family's turns, cut so that each tag can be used singly. The end of a
// user's turn also opens the answer, so that a prompt may end with </user>. If the system text is
// inside the first user's turn, the end of an answer also opens the next user's turn.
std::array<Turn, 3> pieces_of(const char* family) {
  const tokenizer::ChatTemplate& chat = tokenizer::chat_template(family);
  const bool is_inside = chat.system_place == tokenizer::SystemPlace::kInFirstUser;
  const Marker next = is_inside ? chat.user.open : Marker();
  const bool is_open = !chat.answer.empty();  // a user's end opens the assistant's turn
  return {Turn{joined(joined(chat.begin, next), chat.system.open), chat.system.close,
               joined(chat.begin, next)},
          Turn{is_inside ? Marker() : chat.user.open, joined(chat.user.close, chat.answer)},
          Turn{is_open ? Marker() : chat.assistant.open, joined(chat.assistant.close, next)}};
}

// The template of a family of core/tokenizer.
TurnTemplate of_family(std::string_view name, const char* family) {
  const bool has_system =
      tokenizer::chat_template(family).system_place != tokenizer::SystemPlace::kRefused;
  return {.name = name, .turns = pieces_of(family), .family = family, .has_system = has_system};
}

// The templates as the models' publishers write them.
const std::vector<TurnTemplate>& templates() {
  static const std::vector<TurnTemplate> kTable = {
      of_family("llama-2", "llama-2"),
      of_family("llama-3", "llama-3"),
      {"falcon",
       {Turn{{}, {{"\n\n"}}}, Turn{{{"User: "}}, {{"\n\nAssistant:"}}}, Turn{{{" "}}, {{"\n\n"}}}}},
      of_family("mpt", "chatml"),
      of_family("zephyr", "zephyr"),
      of_family("mistral", "mistral"),
      of_family("mistral-0.1", "mistral-0.1"),
      {"plain", {Turn{{kOpening}, {{"\n"}}, {kOpening}}, Turn{{}, {{"\n"}}}, Turn{{}, {{"\n"}}}}},
  };
  return kTable;
}

// The markers that the paper's released code puts in place of the tags before it parses the XML.
const std::vector<TurnTemplate>& templates_as_coded() {
  static const std::vector<TurnTemplate> kTable = {
      {"llama-2",
       {Turn{{kBos, {" [INST] <<SYS>>\n"}}, {{"<</SYS>>\n\n"}}, {kBos, {" [INST] "}}},
        Turn{{}, {{"[/INST]"}}}, Turn{{}, {kEos, kBos, {" [INST] "}}}}},
      {"falcon",
       {Turn{{}, {{"\n\n"}}}, Turn{{{"User: "}}, {{"\n\nAssistant:"}}}, Turn{{{" "}}, {{"\n\n"}}}},
       /*family=*/"",
       /*merges_double_newlines=*/true},
      {"mpt",
       {Turn{{{"<|im_start|>system\n"}}, {{"<|im_end|>\n"}}},
        Turn{{{"<|im_start|>user\n"}}, {{"<|im_end|>\n<|im_start|>assistant\n"}}},
        Turn{{}, {{"<|im_end|>\n"}}}}},
      {"plain", {}},
  };
  return kTable;
}

std::vector<std::string> names_in(const std::vector<TurnTemplate>& table) {
  std::vector<std::string> names;
  for (const TurnTemplate& row : table) names.emplace_back(row.name);
  return names;
}

}  // namespace

std::vector<std::string> template_names() { return names_in(templates()); }

const TurnTemplate& turn_template(std::string_view name, Rules rules) {
  static const TurnTemplate kNone = {.name = kUnrecognized, .turns = {}, .is_recognized = false};
  if (name == kUnrecognized) return kNone;
  const bool is_coded = rules == Rules::kAsCoded;
  const std::vector<TurnTemplate>& table = is_coded ? templates_as_coded() : templates();
  for (const TurnTemplate& row : table)
    if (row.name == name) return row;
  raise("{}", unknown(is_coded ? "chat template of the released code" : "chat template", name,
                      names_in(table)));
}

std::string template_of(model::Family family, const Tokenizer& tokenizer, const std::string& folder,
                        Rules rules) {
  if (family == model::Family::kFalcon) return "falcon";
  if (family == model::Family::kMpt) return "mpt";
  if (family != model::Family::kLlama) return "plain";
  const bool is_llama_3 = tokenizer.token_id("<|start_header_id|>").has_value();
  if (rules == Rules::kAsCoded) return is_llama_3 ? "llama-3" : "llama-2";
  const std::optional<std::string> published =
      tokenizer::read_tokenizer_config(folder).chat_template;
  if (published)
    if (const auto known = tokenizer::recognized_chat_template(*published))
      for (const TurnTemplate& row : templates())
        if (row.family == known->name) return std::string(row.name);
  if (is_llama_3) return "llama-3";
  if (tokenizer.token_id("<|im_start|>")) return "mpt";
  return published ? std::string(kUnrecognized) : "llama-2";
}

}  // namespace reprise::pml
