#include "experiments/kinds/latency/pml_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/base/error.h"
#include "core/model/config/config.h"
#include "experiments/kinds/shared/places.h"
#include "methods/prompt_cache/pml/parse.h"

namespace reprise::experiments {
namespace {

bool has_config(const std::string& place) {
  const std::vector<std::string> shapes = model::shipped_shapes();
  std::error_code error;
  return std::filesystem::exists(std::filesystem::path(place) / "config.json", error) ||
         std::find(shapes.begin(), shapes.end(), place) != shapes.end();
}

// By the model's config.json where it is there: its chat template and the end of its positions.
pml::LayoutOptions layout_options(const PmlFiles& files, const std::string& place,
                                  const Tokenizer& tokenizer) {
  pml::LayoutOptions options;
  options.rules = files.is_as_coded ? pml::Rules::kAsCoded : pml::Rules::kPml;
  options.chat_template = files.chat_template;
  if (has_config(place)) {
    const model::ModelConfig config = model::load_config(place);
    const bool has_end = config.position == model::PositionScheme::kRotary;
    if (has_end && !files.has_random_weights)
      options.max_positions = std::max<int64_t>(0, config.max_positions);
    if (files.chat_template.empty())
      options.chat_template = pml::template_of(config.family, tokenizer);
  } else if (files.chat_template.empty()) {
    raise("{} has no config.json to choose a chat template by; name one: --template {}", place,
          fmt::join(pml::template_names(), ", "));
  }
  return options;
}

}  // namespace

CompiledPml compile_pml(const PmlFiles& files) {
  const pml::Schema schema = pml::parse_schema(pml::Source::read(files.schema));
  std::optional<pml::Prompt> prompt;
  if (!files.prompt.empty()) prompt = pml::parse_prompt(pml::Source::read(files.prompt));
  const std::string place = resolve_model(files.model);
  CompiledPml out{
      .tokenizer = load_tokenizer(files.tokenizer.empty() ? place : resolve_model(files.tokenizer)),
      .schema = {},
      .prompt = {}};
  const pml::LayoutOptions options = layout_options(files, place, *out.tokenizer);
  const pml::TextEncoder encoder = pml::encoder_of(*out.tokenizer);
  out.schema = pml::compile_schema(schema, encoder, options);
  if (prompt) out.prompt = pml::compile_prompt(*prompt, out.schema, encoder, options.max_positions);
  return out;
}

}  // namespace reprise::experiments
