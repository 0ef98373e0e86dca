// Finds experiment files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace reprise::app {

// Paths of the shipped experiment files, relative to results::data_dir(), sorted.
std::vector<std::filesystem::path> shipped_experiments();

// The path of an experiment file: `name` itself if that file exists, otherwise the shipped file of
// this path or name ("quickstart", "prompt_cache/fig5"). Throws Error with the nearest name.
std::filesystem::path find_experiment(const std::string& name);

}  // namespace reprise::app
