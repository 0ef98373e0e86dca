// Locates the data files: experiments, the quickstart model, plot scripts, the papers' numbers.
#pragma once

#include <filesystem>

namespace reprise::results {

// Returns <prefix>/share/reprise if the program is installed as <prefix>/bin/reprise (the prefix
// may have been moved), else the source tree it was built from. Both have the same layout.
std::filesystem::path data_dir();

}  // namespace reprise::results
