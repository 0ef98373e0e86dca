#include "app/pml_files.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "app/number_option.h"
#include "app/output.h"
#include "methods/prompt_cache/pml/turn_template.h"

namespace reprise::app {

void add_lenient(CLI::App& command, bool& is_lenient) {
  command.add_flag("--lenient", is_lenient,
                   "read a \"<\" that begins no tag as the character, with a note of its line");
}

void add_pml_files(CLI::App& command, PmlFiles& files, bool needs_prompt) {
  command.add_option("SCHEMA", files.schema, "file of the schema")->required()->check(not_empty());
  command.add_option("PROMPT", files.prompt, "file of a prompt derived from it")
      ->required(needs_prompt)
      ->check(not_empty());
  command
      .add_option("--template", files.chat_template,
                  fmt::format("chat template: {} (default: the model's own)",
                              fmt::join(pml::template_names(), ", ")))
      ->check(not_empty());
  command.add_flag("--as-coded", files.is_as_coded,
                   "by the rules of the paper's released code (white space, markers of turns)");
  add_lenient(command, files.is_lenient);
}

CompiledPml compile(const PmlFiles& files) {
  CompiledPml out = experiments::compile_pml(files);
  for (const std::string& text : out.notes) note("note: {}\n", text);
  for (const std::string& text : out.tokenizer->notes()) note("note: {}\n", text);
  return out;
}

}  // namespace reprise::app
