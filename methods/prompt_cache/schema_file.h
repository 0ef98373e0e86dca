// Settings for the layout of a schema's file, taken from a model.
#pragma once

#include <string>

#include "core/tokenizer/tokenizer.h"
#include "methods/prompt_cache/pml/layout.h"

namespace reprise::prompt_cache {

struct SchemaPlace {
  std::string model;          // a folder, or the name of a shipped shape
  std::string chat_template;  // "": the template of the model's family
  bool is_as_coded = false;   // by the rules of the paper's released code
  // True if the model has random weights. These prefer no position, so a schema has any length.
  bool has_random_weights = false;
};

// Takes the chat template and the number of positions from the model's config.json. Throws Error if
// there is none and no chat template is named.
[[nodiscard]] pml::LayoutOptions layout_options(const SchemaPlace& place,
                                                const Tokenizer& tokenizer);

}  // namespace reprise::prompt_cache
