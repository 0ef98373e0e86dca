// Position maps as lines and as JSON: of schemas, and of prompts that import a schema's modules.
#pragma once

#include <string>

#include "core/base/json.h"
#include "methods/prompt_cache/pml/prompt.h"

namespace reprise::app {

// The map of a schema. Each line is "name first end" for the positions [first, end). Each module
// has a line ("." is the schema itself), followed by lines for its texts ("city#1") and parameters
// ("city:days").
std::string map_of(const pml::CompiledSchema& schema);
// The map of a prompt, in the order of positions, with lines as in a schema's map. A "+" marks new
// tokens; "+#1" is the first text that the prompt itself adds.
std::string map_of(const pml::CompiledPrompt& prompt, const pml::CompiledSchema& schema);

Fields fields_of(const pml::CompiledSchema& schema);
Fields fields_of(const pml::CompiledPrompt& prompt, const pml::CompiledSchema& schema);

}  // namespace reprise::app
