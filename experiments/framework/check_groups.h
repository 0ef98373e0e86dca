// Finds everything that is wrong with an experiment's points before the first is measured.
#pragma once

#include <vector>

#include "experiments/framework/kind.h"

namespace reprise::experiments {

// Asks the kind about every group. Throws Error with all problems, each once, with the first group
// that has it and the number of others.
void check_groups(const std::vector<Group>& groups, Kind& kind);

}  // namespace reprise::experiments
