// Makes schemas and prompts from token ids, for workloads without text.
#pragma once

#include <cstdint>
#include <vector>

#include "methods/prompt_cache/pml/layout.h"
#include "methods/prompt_cache/pml/prompt.h"

namespace reprise::prompt_cache {

// A schema with its own text, followed by modules named "1", "2", ..., and one scaffold of all of
// them and that text. No module may be empty; `own` may.
pml::CompiledSchema plain_schema(const std::vector<int32_t>& own,
                                 const std::vector<std::vector<int32_t>>& modules);

// A prompt that imports all modules, followed by `text`, which must not be empty.
pml::CompiledPrompt plain_prompt(const pml::CompiledSchema& schema, std::vector<int32_t> text);

}  // namespace reprise::prompt_cache
