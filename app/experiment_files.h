// Finds experiment files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace reprise::app {

// Paths of the shipped experiment files, relative to results::data_dir(), sorted.
std::vector<std::filesystem::path> shipped_experiments();

// Returns the path of an experiment file: `name` itself if that file exists, otherwise the shipped
// file of this path or name ("quickstart", "prompt_cache/fig5"). If there is none, throws Error
// with the nearest known name.
std::filesystem::path find_experiment(const std::string& name);

}  // namespace reprise::app
