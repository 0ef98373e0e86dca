#include "experiments/kinds/latency/pml_files.h"

#include "experiments/kinds/shared/places.h"
#include "methods/prompt_cache/pml/markup.h"
#include "methods/prompt_cache/pml/parse.h"
#include "methods/prompt_cache/schema_file.h"

namespace reprise::experiments {

methods::Markup markup_of(const PmlFiles& files, const Tokenizer& tokenizer) {
  return {.schema = files.schema,
          .model = resolve_model(files.model),
          .chat_template = files.chat_template,
          .has_random_weights = files.has_random_weights,
          .is_lenient = files.is_lenient,
          .tokenizer = &tokenizer};
}

CompiledPml compile_pml(const PmlFiles& files) {
  std::vector<std::string> notes;
  const auto source_of = [&](const std::string& file) {
    return pml::read_source(file, files.is_lenient, notes);
  };
  const pml::Schema schema = pml::parse_schema(source_of(files.schema));
  std::optional<pml::Prompt> prompt;
  if (!files.prompt.empty()) prompt = pml::parse_prompt(source_of(files.prompt));
  const std::string place = resolve_model(files.model);
  CompiledPml out{
      .tokenizer = load_tokenizer(files.tokenizer.empty() ? place : resolve_model(files.tokenizer)),
      .schema = {},
      .prompt = {},
      .notes = std::move(notes)};
  const pml::LayoutOptions options =
      prompt_cache::layout_options({.model = place,
                                    .chat_template = files.chat_template,
                                    .is_as_coded = files.is_as_coded,
                                    .has_random_weights = files.has_random_weights},
                                   *out.tokenizer);
  const pml::TextEncoder encoder = pml::encoder_of(*out.tokenizer);
  out.schema = pml::compile_schema(schema, encoder, options);
  if (prompt) out.prompt = pml::compile_prompt(*prompt, out.schema, encoder, options.max_positions);
  return out;
}

}  // namespace reprise::experiments
