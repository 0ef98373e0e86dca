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
  // The tokenizer::ChatTemplate that the turns are cut from; "" if there is none.
  std::string_view family = {};
  // Double line feeds of a text become one. The released code does this for "falcon".
  bool merges_double_newlines = false;
  bool has_system = true;     // false: the family's template refuses system texts
  bool is_recognized = true;  // false: the model's template is unknown, and no turn can be written

  [[nodiscard]] const Turn& turn(Role role) const { return turns[static_cast<size_t>(role)]; }
};

[[nodiscard]] std::vector<std::string> template_names();

// Throws Error with the nearest name if `rules` have no template of this name.
const TurnTemplate& turn_template(std::string_view name, Rules rules = Rules::kPml);

// The name for turn_template() if a model's chat template is not known.
inline constexpr std::string_view kUnrecognized = "(unrecognized)";

// The name of a model's template. For architectures other than Llama's, the architecture decides.
// For a Llama, it is the template in `folder` (a checkpoint's; a shape's name stands for no
// folder), if that is a known one. Otherwise a vocabulary with <|start_header_id|> means "llama-3",
// one with <|im_start|> "mpt" (ChatML), an unknown template kUnrecognized, and none "llama-2". With
// Rules::kAsCoded, a Llama is "llama-3" or "llama-2" by its vocabulary.
std::string template_of(model::Family family, const Tokenizer& tokenizer, const std::string& folder,
                        Rules rules = Rules::kPml);

}  // namespace reprise::pml
