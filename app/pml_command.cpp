// `reprise pml`: checks schemas and prompts of Prompt Cache's markup language, and tells where
// their tokens stand.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "app/commands.h"
#include "app/model_options.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/pml_map.h"
#include "core/base/problems.h"
#include "core/tokenizer/tokenizer.h"
#include "experiments/kinds/places.h"
#include "methods/prompt_cache/pml/parse.h"
#include "methods/prompt_cache/pml/prompt.h"

namespace reprise::app {
namespace {

// "1 module", "2 modules".
std::string counted(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Files that were read, so that prompts find their schemas whatever the order.
struct ReadFiles {
  std::vector<pml::CompiledSchema> schemas;
  std::vector<pml::Prompt> prompts;
};

void read_pml(const std::string& file, ReadFiles& files) {
  const pml::Source source = pml::Source::read(file);
  if (pml::is_prompt(source))
    files.prompts.push_back(pml::parse_prompt(source));
  else
    files.schemas.push_back(pml::compile_schema(pml::parse_schema(source), pml::no_tokens(), {}));
}

// Throws Error where several of the files hold it; nullptr where none does.
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

void check(const std::vector<std::string>& names) {
  ReadFiles files;
  Problems problems;
  for (const std::string& name : names) problems.collect([&] { read_pml(name, files); });
  for (const pml::CompiledSchema& schema : files.schemas)
    print("{}: schema \"{}\" with {}, {}, {}\n", schema.file, schema.name,
          counted(schema.modules.size() - 1, "module"), counted(schema.unions.size(), "union"),
          counted(schema.parameters.size(), "parameter"));
  for (const pml::Prompt& prompt : files.prompts)
    problems.collect([&] { check_prompt(prompt, files); });
  problems.raise_if_any();
}

struct LayoutArguments {
  std::string schema, prompt, model, chat_template;
  bool is_as_coded = false, is_json = false;
};

// The model's part in a layout: its tokenizer, and where its config.json is there, its chat
// template and the end of its positions.
struct LayoutModel {
  std::unique_ptr<Tokenizer> tokenizer;
  pml::LayoutOptions options;
};

LayoutModel load_layout_model(const LayoutArguments& arguments) {
  const std::string place = experiments::resolve_model(arguments.model);
  LayoutModel out{.tokenizer = load_tokenizer(place)};
  for (const std::string& text : out.tokenizer->notes()) note("note: {}\n", text);
  out.options.rules = arguments.is_as_coded ? pml::Rules::kAsCoded : pml::Rules::kPml;
  out.options.chat_template = arguments.chat_template;
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::path(place) / "config.json", error)) {
    const model::ModelConfig config = model::load_config(place);
    const int64_t positions = positions_left(config, 0);
    if (positions < std::numeric_limits<int64_t>::max()) out.options.max_positions = positions;
    if (arguments.chat_template.empty())
      out.options.chat_template = pml::template_of(config.family, *out.tokenizer);
  } else if (arguments.chat_template.empty()) {
    raise("{} has no config.json to choose a chat template by; name one: --template {}", place,
          fmt::join(pml::template_names(), ", "));
  }
  return out;
}

void layout(const LayoutArguments& arguments) {
  const pml::Schema schema = pml::parse_schema(pml::Source::read(arguments.schema));
  std::optional<pml::Prompt> prompt;
  if (!arguments.prompt.empty()) prompt = pml::parse_prompt(pml::Source::read(arguments.prompt));
  const LayoutModel model = load_layout_model(arguments);
  const pml::TextEncoder encoder = pml::encoder_of(*model.tokenizer);
  const pml::CompiledSchema compiled = pml::compile_schema(schema, encoder, model.options);
  if (!prompt) {
    print("{}", arguments.is_json ? json_of(compiled).dump(2) + "\n" : map_of(compiled));
    return;
  }
  const pml::CompiledPrompt derived =
      pml::compile_prompt(*prompt, compiled, encoder, model.options.max_positions);
  if (!arguments.is_json) {
    print("{}", map_of(derived, compiled));
    return;
  }
  const Json both = {{"schema", json_of(compiled)}, {"prompt", json_of(derived, compiled)}};
  print("{}\n", both.dump(2));
}

void add_check(CLI::App& pml) {
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* command = pml.add_subcommand(
      "check", "Check schemas and prompts: form, names, and imports where the schema is given too");
  command->add_option("FILE", *files, "schemas and prompts")->required()->check(not_empty());
  command->callback([files] { check(*files); });
}

void add_layout(CLI::App& pml) {
  auto arguments = std::make_shared<LayoutArguments>();
  CLI::App* command = pml.add_subcommand(
      "layout",
      "Print the positions of a schema, or of a prompt derived from it: name, first, end");
  command->add_option("SCHEMA", arguments->schema, "file of the schema")
      ->required()
      ->check(not_empty());
  command->add_option("PROMPT", arguments->prompt, "file of a prompt derived from it")
      ->check(not_empty());
  command
      ->add_option(
          "--model", arguments->model,
          "folder with the tokenizer and, if there is one, the config.json of a checkpoint, "
          "or the name of a shipped model")
      ->required()
      ->check(not_empty());
  command
      ->add_option("--template", arguments->chat_template,
                   fmt::format("chat template: {} (default: by the model's architecture)",
                               fmt::join(pml::template_names(), ", ")))
      ->check(not_empty());
  command->add_flag("--as-coded", arguments->is_as_coded,
                    "by the rules of the paper's released code (white space, markers of turns)");
  command->add_flag("--json", arguments->is_json, "print JSON, of a prompt with its new token ids");
  command->callback([arguments] { layout(*arguments); });
}

}  // namespace

void add_pml_command(CLI::App& app) {
  CLI::App* pml = app.add_subcommand(
      "pml", "Check and lay out Prompt Cache's schemas and prompts (see docs/pml.md)");
  pml->require_subcommand(1);
  add_check(*pml);
  add_layout(*pml);
}

}  // namespace reprise::app
