#include "methods/prompt_cache/pml/chat_template.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::pml {
namespace {

constexpr MarkerPart kBos = {"", Special::kBos};
constexpr MarkerPart kEos = {"", Special::kEos};
constexpr MarkerPart kOpening = {"", Special::kOpening};

// As the models' publishers write them. The end of a user's turn opens the answer in all of them,
// so that a prompt may end with </user>.
const std::vector<ChatTemplate>& templates() {
  static const std::vector<ChatTemplate> kTable = {
      {"llama-2",
       {Turn{{kBos, {"[INST] <<SYS>>\n"}}, {{"\n<</SYS>>\n\n"}}, {kBos, {"[INST] "}}},
        Turn{{}, {{" [/INST]"}}}, Turn{{{" "}}, {{" "}, kEos, kBos, {"[INST] "}}}}},
      {"llama-3",
       {Turn{{kBos, {"<|start_header_id|>system<|end_header_id|>\n\n"}}, {{"<|eot_id|>"}}, {kBos}},
        Turn{{{"<|start_header_id|>user<|end_header_id|>\n\n"}},
             {{"<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"}}},
        Turn{{}, {{"<|eot_id|>"}}}}},
      {"falcon",
       {Turn{{}, {{"\n\n"}}}, Turn{{{"User: "}}, {{"\n\nAssistant:"}}}, Turn{{{" "}}, {{"\n\n"}}}}},
      {"mpt",
       {Turn{{{"<|im_start|>system\n"}}, {{"<|im_end|>\n"}}},
        Turn{{{"<|im_start|>user\n"}}, {{"<|im_end|>\n<|im_start|>assistant\n"}}},
        Turn{{}, {{"<|im_end|>\n"}}}}},
      {"plain", {Turn{{kOpening}, {{"\n"}}, {kOpening}}, Turn{{}, {{"\n"}}}, Turn{{}, {{"\n"}}}}},
  };
  return kTable;
}

// As the paper's released code replaces the tags, before it parses the XML.
const std::vector<ChatTemplate>& templates_as_coded() {
  static const std::vector<ChatTemplate> kTable = {
      {"llama-2",
       {Turn{{kBos, {"[INST] <<SYS>>\n"}}, {{"<</SYS>>\n\n"}}, {kBos, {"[INST]"}}},
        Turn{{}, {{"[/INST]"}}}, Turn{{}, {kEos, kBos, {"[INST]"}}}}},
      {"falcon",
       {Turn{{}, {{"\n\n"}}}, Turn{{{"User: "}}, {{"\n\nAssistant:"}}}, Turn{{{" "}}, {{"\n\n"}}}},
       /*merges_double_newlines=*/true},
      {"mpt",
       {Turn{{{"<|im_start|>system\n"}}, {{"<|im_end|>\n"}}},
        Turn{{{"<|im_start|>user\n"}}, {{"<|im_end|>\n<|im_start|>assistant\n"}}},
        Turn{{}, {{"<|im_end|>\n"}}}}},
      {"plain", {}},
  };
  return kTable;
}

std::vector<std::string> names_in(const std::vector<ChatTemplate>& table) {
  std::vector<std::string> names;
  for (const ChatTemplate& row : table) names.emplace_back(row.name);
  return names;
}

}  // namespace

std::vector<std::string> template_names() { return names_in(templates()); }

const ChatTemplate& chat_template(std::string_view name, Rules rules) {
  const bool is_coded = rules == Rules::kAsCoded;
  const std::vector<ChatTemplate>& table = is_coded ? templates_as_coded() : templates();
  for (const ChatTemplate& row : table)
    if (row.name == name) return row;
  raise("{}", unknown(is_coded ? "chat template of the released code" : "chat template", name,
                      names_in(table)));
}

void require_special_tokens(const ChatTemplate& chosen, const TextEncoder& encoder) {
  for (const Turn& turn : chosen.turns)
    for (const Marker* marker : {&turn.open, &turn.close, &turn.empty})
      for (const MarkerPart& part : *marker)
        if ((part.special == Special::kBos && !encoder.bos) ||
            (part.special == Special::kEos && !encoder.eos))
          raise(
              "chat template {} writes the tokens that begin and end a text, and the tokenizer "
              "names none; choose another template, such as plain",
              chosen.name);
}

std::string template_of(model::Family family, const Tokenizer& tokenizer) {
  switch (family) {
    case model::Family::kLlama:
      return tokenizer.token_id("<|start_header_id|>") ? "llama-3" : "llama-2";
    case model::Family::kFalcon:
      return "falcon";
    case model::Family::kMpt:
      return "mpt";
    case model::Family::kPhi:
    case model::Family::kBert:
      return "plain";
  }
  return "plain";
}

}  // namespace reprise::pml
