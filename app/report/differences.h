// Describes how two results folders of one experiment differ in settings, code and machine.
#pragma once

#include <string>
#include <vector>

#include "results/folder.h"

namespace reprise::app {

// Returns one sentence for each difference in settings and sweep, code and build, machine, and the
// files of models and workload. Also has a sentence for each limit of the machine that changed by
// more than a tenth. Empty if nothing differs.
[[nodiscard]] std::vector<std::string> differences_between(const results::ResultsFolder& before,
                                                           const results::ResultsFolder& after);

}  // namespace reprise::app
