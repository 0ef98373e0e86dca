// A schema's file and a prompt's, compiled with a model's tokenizer: for commands and kinds alike.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/tokenizer/tokenizer.h"
#include "methods/method.h"
#include "methods/prompt_cache/pml/prompt.h"

namespace reprise::experiments {

struct PmlFiles {
  std::string schema, prompt;  // prompt "": none
  std::string model;           // a folder, or the name of a shipped model or shape
  std::string tokenizer;       // the same, whose tokenizer is taken in its place; "": the model's
  std::string chat_template;   // "": the one of the model's architecture
  bool is_as_coded = false;
  // Random weights know no position better than another: the schema may be of any length.
  bool has_random_weights = false;
};

struct CompiledPml {
  std::unique_ptr<Tokenizer> tokenizer;
  pml::CompiledSchema schema;
  std::optional<pml::CompiledPrompt> prompt;  // where a file was given
};

// The schema's file as methods take it. `tokenizer` must outlive it.
[[nodiscard]] methods::Markup markup_of(const PmlFiles& files, const Tokenizer& tokenizer);

// Throws Error, or ProblemsError, for what is wrong with the files, and where the model's folder
// has no tokenizer or leaves the chat template open.
CompiledPml compile_pml(const PmlFiles& files);

}  // namespace reprise::experiments
