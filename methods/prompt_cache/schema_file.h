// How a schema's file is laid out for a model.
#pragma once

#include <string>

#include "core/tokenizer/tokenizer.h"
#include "methods/prompt_cache/pml/layout.h"

namespace reprise::prompt_cache {

struct SchemaPlace {
  std::string model;          // a folder, or the name of a shipped shape
  std::string chat_template;  // "": the one of the model's family
  bool is_as_coded = false;   // by the rules of the paper's released code
  // Random weights know no position better than another, so the schema may be of any length.
  bool has_random_weights = false;
};

// Takes the chat template and the end of positions from the model's config.json. Throws Error where
// there is none and no chat template is named.
[[nodiscard]] pml::LayoutOptions layout_options(const SchemaPlace& place,
                                                const Tokenizer& tokenizer);

}  // namespace reprise::prompt_cache
