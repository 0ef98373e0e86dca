// Reads the file that src= of a module names.
#pragma once

#include <string>

#include "methods/prompt_cache/pml/source.h"

namespace reprise::pml {

// Returns the text of the file `name`, which must lie in or below `source`'s folder after links are
// resolved. As in XML, a byte order mark is dropped and each line ends in a line feed.
// `budget_bytes` is the size left for src= files of the schema and is reduced. Throws Error with a
// sentence about src="name"; the caller puts the place in front.
std::string read_src(const Source& source, const std::string& name, size_t& budget_bytes);

}  // namespace reprise::pml
