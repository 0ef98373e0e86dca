// How models write the turns of a conversation that is laid out piece by piece: one table, a row
// for each template.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/config/config.h"
#include "core/tokenizer/chat_template.h"
#include "methods/prompt_cache/pml/encoder.h"
#include "methods/prompt_cache/pml/tree.h"

namespace reprise::pml {

// Whose rules hold where the paper leaves them open.
enum class Rules : uint8_t {
  kPml,      // this program's, see docs/pml.md
  kAsCoded,  // of the paper's released code: white space, markers, order of new tokens
};

using tokenizer::Marker;
using tokenizer::MarkerPart;
using tokenizer::Special;

struct Turn {
  Marker open, close;
  Marker empty = {};  // <system/>
};

struct TurnTemplate {
  std::string_view name;
  std::array<Turn, 3> turns;  // by Role
  // The released code does so to the schema's text before anything else.
  bool merges_double_newlines = false;

  [[nodiscard]] const Turn& turn(Role role) const { return turns[static_cast<size_t>(role)]; }
};

[[nodiscard]] std::vector<std::string> template_names();

// Throws Error with the nearest name for one that is not known, or that the released code does not
// have.
const TurnTemplate& turn_template(std::string_view name, Rules rules = Rules::kPml);

// Throws Error where the template writes <s> or </s> and the tokenizer has none.
void require_special_tokens(const TurnTemplate& chosen, const TextEncoder& encoder);

// By the model's architecture; of Llamas, those whose vocabulary has <|start_header_id|> are
// llama-3.
std::string template_of(model::Family family, const Tokenizer& tokenizer);

}  // namespace reprise::pml
