// Finds all faults of an experiment's points before the first point is measured.
#pragma once

#include <vector>

#include "experiments/framework/kind.h"

namespace reprise::experiments {

// Calls Kind::check() for every group. Throws Error listing each problem once, with the label of
// the first group that has the problem and the number of other groups that have it, too.
void check_groups(const std::vector<Group>& groups, Kind& kind);

}  // namespace reprise::experiments
