#include "app/embed_options.h"

#include <CLI/CLI.hpp>

#include "app/number_option.h"
#include "core/base/error.h"

namespace reprise::app {

void add_pooling_options(CLI::App& command, EmbedOptions& options) {
  command
      .add_option("--pooling", options.pooling,
                  "mean, cls or last: which tokens' states make a sentence vector (default: the "
                  "folder's; otherwise mean for encoders, last for decoders)")
      ->check(not_empty());
  options.normalize_option = command.add_flag(
      "--normalize,!--no-normalize", options.normalize,
      "divide sentence vectors by their length, or not (default: as the folder; otherwise not)");
}

sentence::EmbedSettings settings_of(const EmbedOptions& options, const std::string& folder,
                                    const model::ModelConfig& config) {
  sentence::EmbedSettings settings = sentence::settings_of(folder, config);
  if (!options.pooling.empty())
    settings.pooling.modes = {sentence::parse_pooling(options.pooling, "--pooling")};
  if (options.normalize_option->count() > 0) settings.pooling.normalizes = options.normalize;
  if (!options.prompt.empty())
    settings.form.prompt = sentence::Prompt::parse(options.prompt, "--prompt");
  if (options.max_tokens > 0) {
    if (options.max_tokens > config.position_limit())
      raise("--max-tokens {}: {} takes {} at most", options.max_tokens, config.name,
            config.position_limit());
    settings.form.most_tokens = options.max_tokens;
  }
  return settings;
}

}  // namespace reprise::app
