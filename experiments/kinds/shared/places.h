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

// Where `./setup.sh --models` puts those that do not come with the program:
// ${XDG_CACHE_HOME:-~/.cache}/reprise/models. Empty where neither variable is set.
std::filesystem::path fetched_models_dir();

// What model::load_config() and load_decoder() take for a name: the path of a folder or config.json
// as resolve_path() finds it, a shipped or a fetched model by the name of its folder ("quickstart",
// "all-MiniLM-L6-v2"), or a shipped shape. Throws Error with the nearest of these for any other
// name.
std::string resolve_model(const std::string& name);

}  // namespace reprise::experiments
