// Describes how two results folders of one experiment differ in settings, code and machine.
#pragma once

#include <string>
#include <vector>

#include "results/folder.h"

namespace reprise::app {

// One sentence for each difference in settings and sweep, code and build, machine, the machine's
// limits (if they moved by more than a tenth), and the files of models and workload. Empty if
// nothing differs.
[[nodiscard]] std::vector<std::string> differences_between(const results::ResultsFolder& before,
                                                           const results::ResultsFolder& after);

}  // namespace reprise::app
