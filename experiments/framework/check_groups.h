// What is wrong with any point of an experiment, before the first is measured.
#pragma once

#include <vector>

#include "experiments/framework/kind.h"

namespace reprise::experiments {

// Asks the kind about every group. Throws Error with all problems there are, each once, with the
// first group that has it and how many others do.
void check_groups(const std::vector<Group>& groups, Kind& kind);

}  // namespace reprise::experiments
