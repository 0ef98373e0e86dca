// Settings for the layout of a schema's file, taken from a model.
#pragma once

#include <string>

#include "core/tokenizer/tokenizer.h"
#include "methods/prompt_cache/pml/layout.h"

namespace reprise::prompt_cache {

struct SchemaPlace {
  std::string model;          // a folder, or the name of a shipped shape
  std::string chat_template;  // "": the model's own, see pml::template_of()
  bool is_as_coded = false;   // true: read by pml::Rules::kAsCoded
  // True if the model has random weights. Such weights prefer no position, so a schema may be
  // longer than the model's number of positions.
  bool has_random_weights = false;
};

// Takes the chat template and the number of positions from the model's folder. Throws Error if
// it has no config.json and `place` names no chat template.
[[nodiscard]] pml::LayoutOptions layout_options(const SchemaPlace& place,
                                                const Tokenizer& tokenizer);

}  // namespace reprise::prompt_cache
