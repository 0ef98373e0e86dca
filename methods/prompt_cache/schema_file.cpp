#include "methods/prompt_cache/schema_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/base/error.h"
#include "core/model/config/config.h"

namespace reprise::prompt_cache {
namespace {

bool has_config(const std::string& model) {
  const std::vector<std::string> shapes = model::shipped_shapes();
  std::error_code error;
  return std::filesystem::exists(std::filesystem::path(model) / "config.json", error) ||
         std::find(shapes.begin(), shapes.end(), model) != shapes.end();
}

}  // namespace

pml::LayoutOptions layout_options(const SchemaPlace& place, const Tokenizer& tokenizer) {
  pml::LayoutOptions options;
  options.rules = place.is_as_coded ? pml::Rules::kAsCoded : pml::Rules::kPml;
  options.chat_template = place.chat_template;
  if (has_config(place.model)) {
    const model::ModelConfig config = model::load_config(place.model);
    if (!place.has_random_weights) options.max_positions = config.position_limit();
    if (place.chat_template.empty())
      options.chat_template =
          pml::template_of(config.family, tokenizer, place.model, options.rules);
  } else if (place.chat_template.empty()) {
    raise("{} has no config.json to choose a chat template by; name one: --template {}",
          place.model, fmt::join(pml::template_names(), ", "));
  }
  return options;
}

}  // namespace reprise::prompt_cache
