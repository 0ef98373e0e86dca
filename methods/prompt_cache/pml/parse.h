// Text to schemas and prompts. Both throw Error, or ProblemsError with all that is wrong, each
// problem as "FILE:LINE:COLUMN: sentence". [Prompt Cache §3.2]
#pragma once

#include "methods/prompt_cache/pml/tree.h"

namespace reprise::pml {

// The root must be <schema>. Reads the files that src names, which lie in the source's folder or
// below it, links resolved.
Schema parse_schema(const Source& source, const Limits& limits = {});

// The root must be <prompt>. Whether its schema has what it imports is seen when it is compiled.
Prompt parse_prompt(const Source& source, const Limits& limits = {});

// Whether the root of a well-formed file is <prompt>; throws for one that is not well-formed.
bool is_prompt(const Source& source, const Limits& limits = {});

}  // namespace reprise::pml
