// Where the files that are no code are: experiments, the quickstart model, plot scripts, papers.
#pragma once

#include <filesystem>

namespace reprise::results {

// <prefix>/share/reprise for a program installed as <prefix>/bin/reprise, wherever the prefix was
// moved to; else the source tree that the program was built from. Laid out alike.
std::filesystem::path data_dir();

}  // namespace reprise::results
