// The options that choose how a model's states become a sentence vector.
#pragma once

#include <cstdint>
#include <string>

#include "core/sentence/embedder.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
class Option;
}  // namespace CLI

namespace reprise::app {

struct EmbedOptions {
  std::string pooling, prompt;  // "": as the model's folder states
  int64_t max_tokens = 0;       // longest text; 0: the folder's limit
  bool normalize = false;
  CLI::Option* normalize_option = nullptr;  // was given if --normalize or --no-normalize was
};

// Adds --pooling, --normalize and --no-normalize.
void add_pooling_options(CLI::App& command, EmbedOptions& options);

// Returns the settings of the model's folder, changed by the options. Throws Error as
// sentence::settings_of(), for an unknown pooling, for a prompt without a place for the text, and
// if `max_tokens` is more than the model has positions.
sentence::EmbedSettings settings_of(const EmbedOptions& options, const std::string& folder,
                                    const model::ModelConfig& config);

}  // namespace reprise::app
