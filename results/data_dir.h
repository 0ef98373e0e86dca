// Locates the data files: experiments, the quickstart model, plot scripts, the papers' numbers.
#pragma once

#include <filesystem>
#include <optional>

namespace reprise::results {

// The folder that the variable REPRISE_SHARE_DIR names, if it is set; else <prefix>/share/reprise
// of the running program <prefix>/bin/NAME. In a build folder, share/reprise is a link to the
// source tree, which has the same layout. Symbolic links are resolved in the result. Throws Error,
// with the folder and the remedy, if it has no experiments.
std::filesystem::path data_dir();

// Returns data_dir(), or nullopt where data_dir() throws: for uses that can do without the files.
std::optional<std::filesystem::path> find_data_dir();

}  // namespace reprise::results
