// `reprise pml`: checks schemas and prompts of Prompt Cache's markup language, and prints the
// positions of their tokens.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "app/commands.h"
#include "app/model_options.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/pml_files.h"
#include "app/pml_map.h"
#include "core/base/problems.h"
#include "core/tokenizer/tokenizer.h"
#include "experiments/kinds/shared/places.h"
#include "methods/prompt_cache/pml/markup.h"
#include "methods/prompt_cache/pml/parse.h"
#include "methods/prompt_cache/pml/prompt.h"

namespace reprise::app {
namespace {

// "1 module" or "2 modules".
std::string counted(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// The contents of all files. All files are read before any prompt is checked, so a prompt's file
// may come before the file of its schema.
struct ReadFiles {
  std::vector<pml::CompiledSchema> schemas;
  std::vector<pml::Prompt> prompts;
};

void read_pml(const std::string& file, bool is_lenient, ReadFiles& files) {
  std::vector<std::string> notes;
  const pml::Source source = pml::read_source(file, is_lenient, notes);
  for (const std::string& text : notes) note("note: {}\n", text);
  if (pml::is_prompt(source))
    files.prompts.push_back(pml::parse_prompt(source));
  else
    files.schemas.push_back(pml::compile_schema(pml::parse_schema(source), pml::no_tokens(), {}));
}

// Returns the prompt's schema; nullptr if no file has it. Throws Error if several files have it.
const pml::CompiledSchema* schema_of(const pml::Prompt& prompt, const ReadFiles& files) {
  const pml::CompiledSchema* found = nullptr;
  for (const pml::CompiledSchema& schema : files.schemas) {
    if (schema.name != prompt.schema) continue;
    if (found != nullptr)
      raise("{}: schema \"{}\" is in {} and in {}; check the prompt with one of them",
            pml::at(prompt.file, prompt.place), prompt.schema, found->file, schema.file);
    found = &schema;
  }
  return found;
}

void check_prompt(const pml::Prompt& prompt, const ReadFiles& files) {
  const pml::CompiledSchema* schema = schema_of(prompt, files);
  if (schema != nullptr) pml::check_references(prompt, *schema);
  print("{}: prompt of schema \"{}\"{}\n", prompt.file, prompt.schema,
        schema != nullptr ? "" : ", which is in none of these files: its imports are not checked");
}

void check(const std::vector<std::string>& names, bool is_lenient) {
  ReadFiles files;
  Problems problems;
  for (const std::string& name : names)
    problems.collect([&] { read_pml(name, is_lenient, files); });
  for (const pml::CompiledSchema& schema : files.schemas)
    print("{}: schema \"{}\" with {}, {}, {}\n", schema.file, schema.name,
          counted(schema.modules.size() - 1, "module"), counted(schema.unions.size(), "union"),
          counted(schema.parameters.size(), "parameter"));
  for (const pml::Prompt& prompt : files.prompts)
    problems.collect([&] { check_prompt(prompt, files); });
  problems.raise_if_any();
}

struct LayoutArguments {
  PmlFiles files;
  bool is_json = false;
};

void layout(const LayoutArguments& arguments) {
  const CompiledPml compiled = compile(arguments.files);
  const auto& schema = compiled.schema;
  const auto& prompt = compiled.prompt;
  if (!arguments.is_json) {
    print("{}", prompt ? map_of(*prompt, schema) : map_of(schema));
    return;
  }
  // Not by print(), whose escapes of unprintable characters JSON does not know.
  Fields fields = fields_of(schema);
  if (prompt) fields = {{"schema", std::move(fields)}, {"prompt", fields_of(*prompt, schema)}};
  write_output(json_text(fields, 2) + "\n");
}

void add_check(CLI::App& pml) {
  auto files = std::make_shared<std::vector<std::string>>();
  auto is_lenient = std::make_shared<bool>(false);
  CLI::App* command = pml.add_subcommand(
      "check", "Check schemas and prompts: form, names, and imports where the schema is given too");
  command->add_option("FILE", *files, "schemas and prompts")->required()->check(not_empty());
  add_lenient(*command, *is_lenient);
  command->callback([files, is_lenient] { check(*files, *is_lenient); });
}

void add_layout(CLI::App& pml) {
  auto arguments = std::make_shared<LayoutArguments>();
  CLI::App* command = pml.add_subcommand(
      "layout",
      "Print the positions of a schema, or of a prompt derived from it: name, first, end");
  add_pml_files(*command, arguments->files, /*needs_prompt=*/false);
  command
      ->add_option(
          "--model", arguments->files.model,
          "folder with the tokenizer and, if there is one, the config.json of a checkpoint, "
          "or the name of a shipped model")
      ->required()
      ->check(not_empty());
  command->add_flag("--json", arguments->is_json, "print JSON, of a prompt with its new token ids");
  command->callback([arguments] { layout(*arguments); });
}

}  // namespace

void add_pml_command(CLI::App& app) {
  CLI::App* pml = app.add_subcommand(
      "pml", "Check, lay out and run Prompt Cache's schemas and prompts (see docs/pml.md)");
  pml->require_subcommand(1);
  add_check(*pml);
  add_layout(*pml);
  add_pml_run(*pml);
}

}  // namespace reprise::app
