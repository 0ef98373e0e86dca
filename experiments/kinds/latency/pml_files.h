// Compiles a schema's file and a prompt's file with a model's tokenizer. Used by commands and by
// kinds.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/tokenizer/tokenizer.h"
#include "methods/method.h"
#include "methods/prompt_cache/pml/prompt.h"

namespace reprise::experiments {

struct PmlFiles {
  std::string schema, prompt;  // prompt "": none
  std::string model;           // a folder, or the name of a shipped model or shape
  // A folder or shipped model whose tokenizer is used; "": the tokenizer of `model`.
  std::string tokenizer;
  std::string chat_template;  // "": the one of the model's architecture
  bool is_as_coded = false;
  bool is_lenient = false;  // see pml::read_source()
  // Random weights prefer no position, so the schema may have any length.
  bool has_random_weights = false;
};

struct CompiledPml {
  std::unique_ptr<Tokenizer> tokenizer;
  pml::CompiledSchema schema;
  std::optional<pml::CompiledPrompt> prompt;  // if PmlFiles::prompt names a file
  std::vector<std::string> notes;             // corrections made by lenient reading
};

// The schema's file in the form that methods take. `tokenizer` must outlive it.
[[nodiscard]] methods::Markup markup_of(const PmlFiles& files, const Tokenizer& tokenizer);

// Throws Error or ProblemsError for faults in the files, if the model's folder has no tokenizer,
// and if the folder does not determine the chat template.
CompiledPml compile_pml(const PmlFiles& files);

}  // namespace reprise::experiments
