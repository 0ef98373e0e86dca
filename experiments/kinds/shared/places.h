// Finds the models and files that a user names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace reprise::experiments {

// The path itself if it exists, otherwise the path below results::data_dir() or below a folder of
// data_folders() if that exists, otherwise the path unchanged. If the path exists nowhere and
// `reprise data get` knows it, throws Error with the command that fetches it.
std::string resolve_path(const std::string& path);

// Folders of the models that come with the program, relative to results::data_dir(), sorted.
std::vector<std::filesystem::path> shipped_models();

// ${XDG_CACHE_HOME:-~/.cache}/reprise/models, where `./setup.sh --models` puts models, and
// `reprise data get` too unless REPRISE_DATA is set. Empty if neither variable is set.
std::filesystem::path fetched_models_dir();

// Turns a name into a path or shape for model::load_config() and load_decoder(): a folder or
// config.json as resolve_path() finds it, the folder name of a shipped or downloaded model
// ("quickstart", "all-MiniLM-L6-v2"), or a shipped shape. Throws Error for any other name: with the
// command that fetches it, or with the nearest name.
std::string resolve_model(const std::string& name);

}  // namespace reprise::experiments
