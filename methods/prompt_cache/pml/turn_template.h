// The chat templates: for each, the markers that open and close the turns of a conversation.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/config/config.h"
#include "core/tokenizer/chat_template.h"
#include "core/tokenizer/tokenizer.h"
#include "methods/prompt_cache/pml/tree.h"

namespace reprise::pml {

// The rules for details that the paper leaves open: white space, markers, the order of new tokens.
enum class Rules : uint8_t {
  kPml,      // the rules of this program, see docs/pml.md
  kAsCoded,  // the rules of the paper's released code
};

using tokenizer::Marker;
using tokenizer::MarkerPart;
using tokenizer::Special;

struct Turn {
  Marker open, close;
  Marker empty = {};  // stands for <system/>
};

struct TurnTemplate {
  std::string_view name;
  std::array<Turn, 3> turns;  // indexed by Role
  // Double line feeds of a text become one. The released code does this for "falcon".
  bool merges_double_newlines = false;

  [[nodiscard]] const Turn& turn(Role role) const { return turns[static_cast<size_t>(role)]; }
};

[[nodiscard]] std::vector<std::string> template_names();

// Throws Error with the nearest name if `rules` have no template of this name.
const TurnTemplate& turn_template(std::string_view name, Rules rules = Rules::kPml);

// The name of a model's template, chosen by its architecture. A Llama whose vocabulary has
// <|start_header_id|> gets "llama-3".
std::string template_of(model::Family family, const Tokenizer& tokenizer);

}  // namespace reprise::pml
