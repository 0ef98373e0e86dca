// Whether the sets of <scaffold modules="..."> can be imported by any prompt.
#pragma once

#include "methods/prompt_cache/pml/tree.h"

namespace reprise::pml {

// Reports paths that no module has, modules named twice, two members of one union in one set (their
// enclosing modules' unions count too), and sets that come twice.
void check_scaffolds(const Schema& schema, Report& report);

}  // namespace reprise::pml
