// Where the models and files are that a user names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace reprise::experiments {

// The path as given where it is there, else the same below results::data_dir() where that is there,
// else as it stands.
std::string resolve_path(const std::string& path);

// Folders of the models that come with the program, relative to results::data_dir(), sorted.
std::vector<std::filesystem::path> shipped_models();

// What model::load_config() and load_decoder() take for a name: the path of a folder or config.json
// as resolve_path() finds it, a shipped model by the name of its folder ("quickstart"), or a
// shipped shape. Throws Error with the nearest of these for any other name.
std::string resolve_model(const std::string& name);

}  // namespace reprise::experiments
