// Where experiment files are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace reprise::app {

// Paths below results::data_dir(), sorted.
std::vector<std::filesystem::path> shipped_experiments();

// A file as given, or one of the shipped ones by its path or name ("quickstart",
// "prompt_cache/fig5"). Throws Error with the nearest name.
std::filesystem::path find_experiment(const std::string& name);

}  // namespace reprise::app
