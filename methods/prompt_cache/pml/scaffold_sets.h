// Checks that a prompt can import all modules of each <scaffold modules="...">.
#pragma once

#include "methods/prompt_cache/pml/tree.h"

namespace reprise::pml {

// Reports paths that no module has, modules named twice, sets that come twice, and sets with two
// modules that lie in different members of one union.
void check_scaffolds(const Schema& schema, Report& report);

}  // namespace reprise::pml
