// Position maps of schemas and of prompts derived from them, as lines and as JSON.
#pragma once

#include <string>

#include "core/base/json.h"
#include "methods/prompt_cache/pml/prompt.h"

namespace reprise::app {

// The map of a schema, one line "name first end" each with half-open positions: each module ("." is
// the schema), followed by its texts ("city#1") and parameters ("city:days").
std::string map_of(const pml::CompiledSchema& schema);
// The map of a prompt by position, with names as above. A "+" marks new tokens; "+#1" is the
// prompt's first own text.
std::string map_of(const pml::CompiledPrompt& prompt, const pml::CompiledSchema& schema);

Fields fields_of(const pml::CompiledSchema& schema);
Fields fields_of(const pml::CompiledPrompt& prompt, const pml::CompiledSchema& schema);

}  // namespace reprise::app
