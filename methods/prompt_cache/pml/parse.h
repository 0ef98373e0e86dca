// Parses PML texts into schemas and prompts. All functions throw Error, or ProblemsError with every
// problem as "FILE:LINE:COLUMN: sentence". [Prompt Cache §3.2]
#pragma once

#include "methods/prompt_cache/pml/tree.h"

namespace reprise::pml {

// Parses a schema; the root must be <schema>. Also reads the files that src= names. They must lie
// in or below the source's folder after links are resolved.
Schema parse_schema(const Source& source, const Limits& limits = {});

// Parses a prompt; the root must be <prompt>. Imports are checked only by compile_prompt().
Prompt parse_prompt(const Source& source, const Limits& limits = {});

// True if the root is <prompt>. Throws for a text that is not well-formed.
bool is_prompt(const Source& source, const Limits& limits = {});

}  // namespace reprise::pml
