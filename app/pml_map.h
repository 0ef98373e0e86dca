// The position map of a schema, or of a prompt derived from it, as lines and as JSON.
#pragma once

#include <string>

#include "core/base/json.h"
#include "methods/prompt_cache/pml/prompt.h"

namespace reprise::app {

// One line "name first end" each, positions half-open: a module ("." is the schema), behind it its
// texts ("city#1") and parameters ("city:days").
std::string map_of(const pml::CompiledSchema& schema);
// What the prompt consists of, by position: names as above; "+" before what is new, "+#1" for its
// first own text.
std::string map_of(const pml::CompiledPrompt& prompt, const pml::CompiledSchema& schema);

Json json_of(const pml::CompiledSchema& schema);
Json json_of(const pml::CompiledPrompt& prompt, const pml::CompiledSchema& schema);

}  // namespace reprise::app
