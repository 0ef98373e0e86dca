// How two folders of one experiment differ in what was asked for, and in whose they are.
#pragma once

#include <string>
#include <vector>

#include "results/folder.h"

namespace reprise::app {

// Sentences, in words: settings and sweep, code and build, machine, the machine's limits where they
// moved by more than a tenth, the models' and workload's files. None where nothing differs.
[[nodiscard]] std::vector<std::string> differences_between(const results::ResultsFolder& before,
                                                           const results::ResultsFolder& after);

}  // namespace reprise::app
