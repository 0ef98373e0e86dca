// The files that `reprise pml layout` and `reprise pml run` read, compiled with a model's
// tokenizer.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/tokenizer/tokenizer.h"
#include "methods/prompt_cache/pml/prompt.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace reprise::app {

struct PmlFiles {
  std::string schema, prompt;
  std::string model;  // a folder, or the name of a shipped model
  std::string chat_template;
  bool is_as_coded = false;
};

// SCHEMA, PROMPT, --template and --as-coded.
void add_pml_files(CLI::App& command, PmlFiles& files, bool needs_prompt);

struct CompiledPml {
  std::unique_ptr<Tokenizer> tokenizer;
  pml::CompiledSchema schema;
  std::optional<pml::CompiledPrompt> prompt;  // where a file was given
};

// Throws Error, or ProblemsError, for what is wrong with the files, and where the model's folder
// has no tokenizer or leaves the chat template open.
CompiledPml compile(const PmlFiles& files);

// `reprise pml run`.
void add_pml_run(CLI::App& pml);

}  // namespace reprise::app
