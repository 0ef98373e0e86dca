// Schemas and prompts made of token ids, for workloads that are no text: as if PML had been read.
#pragma once

#include <cstdint>
#include <vector>

#include "methods/prompt_cache/pml/layout.h"
#include "methods/prompt_cache/pml/prompt.h"

namespace reprise::prompt_cache {

// Modules "1", "2", ... side by side behind the schema's own text, and one scaffold of all of them
// and that text. None of the modules may be empty; `own` may.
pml::CompiledSchema plain_schema(const std::vector<int32_t>& own,
                                 const std::vector<std::vector<int32_t>>& modules);

// Imports all modules, and brings `text` behind them. Not empty.
pml::CompiledPrompt plain_prompt(const pml::CompiledSchema& schema, std::vector<int32_t> text);

}  // namespace reprise::prompt_cache
