// The file that a module's src names.
#pragma once

#include <string>

#include "methods/prompt_cache/pml/source.h"

namespace reprise::pml {

// Its text. `name` is relative to `source`'s folder and must lie there or below once all links are
// resolved. `budget_bytes` is what all src files of the schema may still take, and shrinks. Throws
// Error with a sentence about src="name" that needs a place in front.
std::string read_src(const Source& source, const std::string& name, size_t& budget_bytes);

}  // namespace reprise::pml
