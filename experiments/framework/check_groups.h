// Finds everything that is wrong with an experiment's points before the first is measured.
#pragma once

#include <vector>

#include "experiments/framework/kind.h"

namespace reprise::experiments {

// Calls Kind::check() for every group. Throws Error listing each problem once, with the first group
// that has it and the number of other groups that have it.
void check_groups(const std::vector<Group>& groups, Kind& kind);

}  // namespace reprise::experiments
