#include "app/pml_files.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <limits>

#include "app/model_options.h"
#include "app/number_option.h"
#include "app/output.h"
#include "core/base/error.h"
#include "experiments/kinds/places.h"
#include "methods/prompt_cache/pml/parse.h"

namespace reprise::app {
namespace {

// By the model's config.json where it is there: its chat template and the end of its positions.
pml::LayoutOptions layout_options(const PmlFiles& files, const std::string& place,
                                  const Tokenizer& tokenizer) {
  pml::LayoutOptions options;
  options.rules = files.is_as_coded ? pml::Rules::kAsCoded : pml::Rules::kPml;
  options.chat_template = files.chat_template;
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::path(place) / "config.json", error)) {
    const model::ModelConfig config = model::load_config(place);
    const int64_t positions = positions_left(config, 0);
    if (positions < std::numeric_limits<int64_t>::max()) options.max_positions = positions;
    if (files.chat_template.empty())
      options.chat_template = pml::template_of(config.family, tokenizer);
  } else if (files.chat_template.empty()) {
    raise("{} has no config.json to choose a chat template by; name one: --template {}", place,
          fmt::join(pml::template_names(), ", "));
  }
  return options;
}

}  // namespace

void add_pml_files(CLI::App& command, PmlFiles& files, bool needs_prompt) {
  command.add_option("SCHEMA", files.schema, "file of the schema")->required()->check(not_empty());
  command.add_option("PROMPT", files.prompt, "file of a prompt derived from it")
      ->required(needs_prompt)
      ->check(not_empty());
  command
      .add_option("--template", files.chat_template,
                  fmt::format("chat template: {} (default: by the model's architecture)",
                              fmt::join(pml::template_names(), ", ")))
      ->check(not_empty());
  command.add_flag("--as-coded", files.is_as_coded,
                   "by the rules of the paper's released code (white space, markers of turns)");
}

CompiledPml compile(const PmlFiles& files) {
  const pml::Schema schema = pml::parse_schema(pml::Source::read(files.schema));
  std::optional<pml::Prompt> prompt;
  if (!files.prompt.empty()) prompt = pml::parse_prompt(pml::Source::read(files.prompt));
  const std::string place = experiments::resolve_model(files.model);
  CompiledPml out{.tokenizer = load_tokenizer(place), .schema = {}, .prompt = {}};
  for (const std::string& text : out.tokenizer->notes()) note("note: {}\n", text);
  const pml::LayoutOptions options = layout_options(files, place, *out.tokenizer);
  const pml::TextEncoder encoder = pml::encoder_of(*out.tokenizer);
  out.schema = pml::compile_schema(schema, encoder, options);
  if (prompt) out.prompt = pml::compile_prompt(*prompt, out.schema, encoder, options.max_positions);
  return out;
}

}  // namespace reprise::app
