// Makes schemas and prompts from token ids, for workloads without text.
#pragma once

#include <cstdint>
#include <vector>

#include "methods/prompt_cache/pml/layout.h"
#include "methods/prompt_cache/pml/prompt.h"

namespace reprise::prompt_cache {

// A schema of modules named "1", "2", ..., without text of its own and without scaffolds. No module
// may be empty.
pml::CompiledSchema plain_schema(const std::vector<std::vector<int32_t>>& modules);

// A prompt that imports some of the modules, each once and at least one, followed by `text`, which
// must not be empty. `modules` has indices: index 0 is the module named "1". The text's positions
// follow the last imported module.
pml::CompiledPrompt plain_prompt(const pml::CompiledSchema& schema, std::vector<int32_t> modules,
                                 std::vector<int32_t> text);

}  // namespace reprise::prompt_cache
